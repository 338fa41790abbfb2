package carillon.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Finds the Java blocks of a document, and the marked blocks of the test that runs them. */
final class DocBlocks {

  private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\n(.*?)^```$");
  private static final Pattern MARKED =
      Pattern.compile("(?ms)^ *// document begins\n(.*?)^ *// document ends$");

  private DocBlocks() {}

  static List<String> in(String document) throws IOException {
    return blocks(BLOCK, Path.of("../client/docs", document));
  }

  static List<String> runBy(Class<?> test) throws IOException {
    return blocks(
        MARKED, Path.of("src/test/java", test.getName().replace('.', '/').concat(".java")));
  }

  private static List<String> blocks(Pattern pattern, Path file) throws IOException {
    return pattern
        .matcher(Files.readString(file))
        .results()
        .map(match -> match.group(1).stripTrailing().stripIndent())
        .toList();
  }
}
