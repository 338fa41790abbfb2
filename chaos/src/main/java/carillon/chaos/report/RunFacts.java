package carillon.chaos.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Facts about a run: its command, date, commit and machine. */
public final class RunFacts {

  private RunFacts() {}

  /**
   * The facts; determined before the run writes into the work tree, which would mark the commit as
   * dirty.
   */
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

  /** Removes directories of the machine from a text that is going to be committed. */
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

  /** The commit of the work tree, marked if there are changes. */
  private static String commit() throws IOException, InterruptedException {
    Process git =
        new ProcessBuilder("git", "describe", "--always", "--dirty", "--exclude=*")
            .redirectErrorStream(true)
            .start();
    String output = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    return git.waitFor() == 0 ? output : "unknown";
  }
}
