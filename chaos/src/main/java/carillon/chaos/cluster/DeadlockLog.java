package carillon.chaos.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds in PostgreSQL's log the deadlocks of one database. */
public final class DeadlockLog {

  /** Several runs share a PostgreSQL, so each line must name its database. */
  static final String PREFIX = "%m [%p] %d ";

  private static final Pattern LINE =
      Pattern.compile("(\\S+ \\S+ \\S+) \\[\\d+] (\\S*) ([A-Z]+): {2}(.*)");

  /** A statement of a deadlock, on its own line after the waits in the details. */
  private static final Pattern PROCESS = Pattern.compile("\\tProcess \\d+: (.*)");

  /** All statements of the program and of the harness start with their name. */
  private static final Pattern NAME = Pattern.compile("/\\* (\\w+\\.\\w+) \\*/.*");

  private static final int MAX_LENGTH = 60;

  private DeadlockLog() {}

  /**
   * A deadlock that PostgreSQL resolved.
   *
   * @param at the time as text, as in the log
   * @param statements names of the statements that waited for each other; of statements without a
   *     name, the beginning
   */
  public record Deadlock(String at, List<String> statements) {}

  public static List<Deadlock> read(Path log, String database) throws IOException {
    List<Deadlock> found = new ArrayList<>();
    boolean isInside = false;
    // Latin 1 can decode any byte that a statement contains.
    for (String line : Files.readAllLines(log, StandardCharsets.ISO_8859_1)) {
      Matcher start = LINE.matcher(line);
      Matcher process = PROCESS.matcher(line);
      if (start.matches()) {
        boolean isDeadlock =
            start.group(3).equals("ERROR") && start.group(4).equals("deadlock detected");
        isInside =
            start.group(2).equals(database)
                && (isDeadlock || (isInside && start.group(3).equals("DETAIL")));
        if (isInside && isDeadlock) {
          found.add(new Deadlock(start.group(1), new ArrayList<>()));
        }
      } else if (isInside && process.matches()) {
        found.getLast().statements().add(name(process.group(1)));
      }
    }
    return found;
  }

  private static String name(String statement) {
    Matcher name = NAME.matcher(statement);
    return name.matches()
        ? name.group(1)
        : statement.substring(0, Math.min(MAX_LENGTH, statement.length()));
  }
}
