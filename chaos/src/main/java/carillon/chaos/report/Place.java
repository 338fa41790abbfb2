package carillon.chaos.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Where, when and of what a run was, in words. */
public final class Place {

  private Place() {}

  /** What everybody wants to know of a run first; asked before it writes into the work tree. */
  public static Map<String, String> facts(String command) throws IOException, InterruptedException {
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("date", InstantSource.system().instant().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("command", "`" + command + "`");
    facts.put("commit", commit());
    facts.put("Java", Runtime.version().toString());
    facts.put(
        "machine",
        "%d cores, Linux %s"
            .formatted(
                Runtime.getRuntime().availableProcessors(), System.getProperty("os.version")));
    return facts;
  }

  /** What is committed says nothing of the machine's directories. */
  public static String withoutPaths(String text) {
    String shown = text;
    for (String name : List.of("user.dir", "java.io.tmpdir", "user.home")) {
      String path = System.getProperty(name, "");
      if (path.length() > 1) {
        shown = shown.replaceAll(Pattern.quote(path) + "(?:/[\\w.+-]+)*", "DIR");
      }
    }
    return shown;
  }

  /** Of the work tree, marked if it has changes. */
  private static String commit() throws IOException, InterruptedException {
    Process git =
        new ProcessBuilder("git", "describe", "--always", "--dirty", "--exclude=*")
            .redirectErrorStream(true)
            .start();
    String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    return git.waitFor() == 0 ? output : "unknown";
  }
}
