package carillon.bench.systems;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Collects the plans of executed statements, with the node's own settings, from PostgreSQL's log,
 * where {@code auto_explain} writes them.
 */
public final class Plans {

  /** Set for the database before the first connection; has no effect before {@link #begin}. */
  static final String SETTINGS =
      """
      DO $$
      BEGIN
          EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = auto_explain', current_database());
      END
      $$
      """;

  private static final Map<String, String> EXPLAIN_SETTINGS =
      Map.of(
          "auto_explain.log_min_duration", "0",
          "auto_explain.log_analyze", "on",
          "auto_explain.log_buffers", "on",
          "auto_explain.log_parameter_max_length", "0",
          "log_line_prefix", "'%a> '");

  private static final Pattern HEAD =
      Pattern.compile("(?<by>\\S*)> LOG: +duration: (?<millis>[0-9.]+) ms +plan:");
  private static final Pattern NAME = Pattern.compile("/\\* (\\w+\\.\\w+) \\*/");
  private static final String API_POOL =
      "carillon/api"; // application_name of the pool that serves requests

  private final Path log;
  private final Set<String> background = new HashSet<>();
  private final Map<String, List<Plan>> recorded = new LinkedHashMap<>();
  private long read;

  /**
   * The plan of one executed statement.
   *
   * @param by the {@code application_name}
   * @param name class and method from the statement's comment
   * @param text the statement and its plan
   */
  record Plan(String by, String name, double millis, String text) {}

  /**
   * @param log the log file of PostgreSQL
   */
  public Plans(Path log) {
    this.log = log;
  }

  public void begin(Database database) throws SQLException, IOException {
    for (Map.Entry<String, String> setting : EXPLAIN_SETTINGS.entrySet()) {
      database
          .asSuperuser()
          .execute("ALTER SYSTEM SET %s = %s".formatted(setting.getKey(), setting.getValue()));
    }
    database.asSuperuser().execute("SELECT pg_reload_conf()");
    read = Files.size(log);
  }

  public void end(Database database) throws SQLException {
    for (String setting : EXPLAIN_SETTINGS.keySet()) {
      database.asSuperuser().execute("ALTER SYSTEM RESET " + setting);
    }
    database.asSuperuser().execute("SELECT pg_reload_conf()");
  }

  /** Ignores from now on the statements that have been logged without page requests. */
  public void skipLogged() throws IOException {
    next().stream()
        .filter(plan -> !plan.by().equals(API_POOL))
        .map(Plan::name)
        .forEach(background::add);
  }

  /** Records the slowest plan of each statement logged since the last call. */
  public void record(String request) throws IOException {
    Map<String, Plan> slowest = new LinkedHashMap<>();
    for (Plan plan : next()) {
      if (!background.contains(plan.name())) {
        slowest.merge(plan.name(), plan, (a, b) -> a.millis() >= b.millis() ? a : b);
      }
    }
    recorded.put(request, List.copyOf(slowest.values()));
  }

  private List<Plan> next() throws IOException {
    byte[] all = Files.readAllBytes(log); // a few megabytes per run
    String added = new String(all, (int) read, all.length - (int) read, StandardCharsets.UTF_8);
    read = all.length;
    return parse(added);
  }

  /** Continuation lines of a log entry begin with a tab. */
  static List<Plan> parse(String log) {
    List<Plan> plans = new ArrayList<>();
    String[] lines = log.split("\n", -1);
    for (int i = 0; i < lines.length; i++) {
      Matcher head = HEAD.matcher(lines[i]);
      if (head.find()) {
        StringBuilder text = new StringBuilder();
        while (i + 1 < lines.length && lines[i + 1].startsWith("\t")) {
          text.append(lines[++i], 1, lines[i].length()).append('\n');
        }
        Matcher name = NAME.matcher(text);
        if (name.find()) {
          plans.add(
              new Plan(
                  head.group("by"),
                  name.group(1),
                  Double.parseDouble(head.group("millis")),
                  executedParts(text.toString())));
        }
      }
    }
    return plans;
  }

  /** Removes the parts that were never executed: most of a plan over many partitions. */
  private static String executedParts(String plan) {
    StringBuilder text = new StringBuilder();
    int hidden = Integer.MAX_VALUE; // deeper lines belong to a part that was never executed
    for (String line : plan.lines().toList()) {
      int depth = line.length() - line.stripLeading().length();
      hidden = depth > hidden ? hidden : Integer.MAX_VALUE;
      if (line.contains("(never executed)")) {
        hidden = Math.min(hidden, depth);
      } else if (hidden == Integer.MAX_VALUE) {
        text.append(line).append('\n');
      }
    }
    return text.toString();
  }

  /** All recorded plans as Markdown. */
  public String page() {
    StringBuilder page = new StringBuilder();
    recorded.forEach(
        (request, plans) -> {
          page.append("## ").append(request).append("\n\n");
          if (plans.isEmpty()) {
            page.append("No statement: answered from memory.\n\n");
          }
          for (Plan plan : plans) {
            page.append(
                "%s, %.2f ms%n%n```%n%s```%n%n".formatted(plan.name(), plan.millis(), plan.text()));
          }
        });
    return page.toString();
  }
}
