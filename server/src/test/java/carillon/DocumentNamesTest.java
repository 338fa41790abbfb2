package carillon;

import static java.util.stream.Collectors.toMap;
import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The classes, members, files and headings that the documents name exist. */
class DocumentNamesTest {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private static final Pattern CODE_BLOCK = Pattern.compile("(?ms)^ *```.*?^ *```$");
  private static final Pattern BACKTICKS = Pattern.compile("`([^`\n]+)`");
  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");

  /** Matches {@code Claimer}, {@code engine/Claimer} and {@code WorkQueue.CLAIM_PLAIN}. */
  private static final Pattern CLASS =
      Pattern.compile("(?:[a-z]+[./])*([A-Z][a-z]\\w*)((?:\\.[A-Za-z]\\w+)*)");

  /** Matches {@code docs/sql.md} and {@code engine/Claimer}. */
  private static final Pattern FILE =
      Pattern.compile(
          "[\\w.-]+(?:/[\\w.-]+)*\\.(?:md|java|sql|js|mjs|css|html|json)|(?:[a-z]+/)+[A-Z]\\w+");

  /** Names that look like classes or files of the repository but are not. */
  private static final Set<String> NOT_OURS =
      Set.of(
          ("Authorization Host NaN HikariCP chart.js 3__name.sql V3__name.sql violations.md"
               + " carillon.client.sql DataSource EventSource JsonMapper System.Logger Thread.sleep"
               + " Helper Impl Manager Util Test")
              .split(" "));

  private static final List<Path> FILES = files();
  private static final Map<String, String> SOURCES =
      FILES.stream()
          .filter(file -> file.toString().endsWith(".java"))
          .collect(
              toMap(
                  file -> file.getFileName().toString().replace(".java", ""),
                  DocumentNamesTest::read,
                  String::concat));

  @Test
  void classes_and_members_named_in_documents_exist() {
    assertThat(documents().flatMap(DocumentNamesTest::unknownClasses)).isEmpty();
  }

  @Test
  void files_named_in_documents_exist() {
    assertThat(documents().flatMap(DocumentNamesTest::unknownFiles)).isEmpty();
  }

  @Test
  void links_in_documents_lead_to_a_file_and_heading() {
    assertThat(documents().flatMap(DocumentNamesTest::brokenLinks)).isEmpty();
  }

  private static Stream<String> unknownClasses(Path document) {
    return inBackticks(document)
        .filter(CLASS.asMatchPredicate())
        .filter(name -> !CLASS.matcher(name).results().allMatch(DocumentNamesTest::isDeclared))
        .map(name -> ROOT.relativize(document) + " names " + name);
  }

  /** Whether the class has a source file that contains the members as words. */
  private static boolean isDeclared(MatchResult name) {
    String source = SOURCES.getOrDefault(name.group(1), "");
    return Stream.of((name.group(1) + name.group(2)).split("\\."))
        .allMatch(part -> Pattern.compile("\\b" + part + "\\b").matcher(source).find());
  }

  private static Stream<String> unknownFiles(Path document) {
    return inBackticks(document)
        .filter(FILE.asMatchPredicate())
        .filter(
            name ->
                FILES.stream()
                    .noneMatch(file -> file.endsWith(name) || file.endsWith(name + ".java")))
        .map(name -> ROOT.relativize(document) + " names " + name);
  }

  private static Stream<String> brokenLinks(Path document) {
    return LINK.matcher(prose(document))
        .results()
        .map(link -> link.group(1))
        .filter(link -> !link.matches("[a-z]+:.*"))
        .filter(link -> !leadsToHeading(document, link))
        .map(link -> ROOT.relativize(document) + " links to " + link);
  }

  private static boolean leadsToHeading(Path document, String link) {
    String[] parts = link.split("#", 2);
    Path target = parts[0].isEmpty() ? document : document.resolveSibling(parts[0]).normalize();
    return Files.exists(target) && (parts.length == 1 || anchors(target).contains(parts[1]));
  }

  /** The anchors that GitHub creates for headings. */
  private static Set<String> anchors(Path document) {
    return HEADING
        .matcher(prose(document))
        .results()
        .map(heading -> heading.group(1).toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\w -]", "").replace(' ', '-'))
        .collect(toSet());
  }

  private static Stream<String> inBackticks(Path document) {
    return BACKTICKS
        .matcher(prose(document))
        .results()
        .map(text -> text.group(1))
        .filter(text -> !NOT_OURS.contains(text));
  }

  private static String prose(Path document) {
    return CODE_BLOCK.matcher(read(document)).replaceAll("");
  }

  /** All documents except benchmark and chaos reports, which describe the commit they measured. */
  private static Stream<Path> documents() {
    return FILES.stream()
        .filter(file -> file.toString().endsWith(".md"))
        .filter(file -> !file.resolveSibling("").endsWith("results"));
  }

  private static List<Path> files() {
    List<Path> files = new ArrayList<>();
    try {
      Files.walkFileTree(
          ROOT,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes unused) {
              boolean built =
                  directory.endsWith("target") && Files.exists(directory.resolveSibling("pom.xml"));
              boolean foreign = directory.endsWith("node_modules") || directory.endsWith(".git");
              boolean data = directory.equals(ROOT.resolve("data"));
              return built || foreign || data
                  ? FileVisitResult.SKIP_SUBTREE
                  : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes unused) {
              files.add(file);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
