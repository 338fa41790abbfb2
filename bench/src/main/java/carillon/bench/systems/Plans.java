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
 * The plans of statements as they were run, with the node's own settings: PostgreSQL's {@code
 * auto_explain} writes them to its log, from where they are read.
 */
public final class Plans {

  /** Set for a database before anybody connects; explains nothing before {@link #begin}. */
  static final String SETTINGS =
      """
      DO $$
      BEGIN
          EXECUTE format('ALTER DATABASE %I SET session_preload_libraries = auto_explain', current_database());
      END
      $$
      """;

  private static final Map<String, String> EXPLAINING =
      Map.of(
          "auto_explain.log_min_duration", "0",
          "auto_explain.log_analyze", "on",
          "auto_explain.log_buffers", "on",
          "auto_explain.log_parameter_max_length", "0",
          "log_line_prefix", "'%a> '");

  private static final Pattern HEAD =
      Pattern.compile("(?<by>\\S*)> LOG: +duration: (?<millis>[0-9.]+) ms +plan:");
  private static final Pattern NAME = Pattern.compile("/\\* (\\w+\\.\\w+) \\*/");
  private static final String REQUESTS = "carillon/api"; // the pool that serves them

  private final Path log;
  private final Set<String> leftOut = new HashSet<>();
  private final Map<String, List<Plan>> kept = new LinkedHashMap<>();
  private long read;

  /**
   * One statement that ran.
   *
   * @param name its method, as its comment says
   * @param text the statement, and what PostgreSQL made of it
   */
  record Plan(String by, String name, double millis, String text) {}

  /**
   * @param log of PostgreSQL
   */
  public Plans(Path log) {
    this.log = log;
  }

  public void begin(Database database) throws SQLException, IOException {
    for (Map.Entry<String, String> setting : EXPLAINING.entrySet()) {
      database
          .asSuperuser()
          .execute("ALTER SYSTEM SET %s = %s".formatted(setting.getKey(), setting.getValue()));
    }
    database.asSuperuser().execute("SELECT pg_reload_conf()");
    read = Files.size(log);
  }

  public void end(Database database) throws SQLException {
    for (String setting : EXPLAINING.keySet()) {
      database.asSuperuser().execute("ALTER SYSTEM RESET " + setting);
    }
    database.asSuperuser().execute("SELECT pg_reload_conf()");
  }

  /** Statements seen so far also run without page requests. */
  public void leaveOutWhatCame() throws IOException {
    next().stream()
        .filter(plan -> !plan.by().equals(REQUESTS))
        .map(Plan::name)
        .forEach(leftOut::add);
  }

  /** Of each statement that ran since, the one that took longest. */
  public void keep(String request) throws IOException {
    Map<String, Plan> slowest = new LinkedHashMap<>();
    for (Plan plan : next()) {
      if (!leftOut.contains(plan.name())) {
        slowest.merge(plan.name(), plan, (a, b) -> a.millis() >= b.millis() ? a : b);
      }
    }
    kept.put(request, List.copyOf(slowest.values()));
  }

  private List<Plan> next() throws IOException {
    byte[] all = Files.readAllBytes(log); // of one run, a few megabytes
    String news = new String(all, (int) read, all.length - (int) read, StandardCharsets.UTF_8);
    read = all.length;
    return parse(news);
  }

  /** The lines of an entry that follow its first one begin with a tab. */
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
                  run(text.toString())));
        }
      }
    }
    return plans;
  }

  /** Without the parts that were not run: of a table of many partitions that is nearly all. */
  private static String run(String plan) {
    StringBuilder text = new StringBuilder();
    int hidden = Integer.MAX_VALUE; // deeper lines belong to a part that was not run
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

  /** All that was kept, for people. */
  public String page() {
    StringBuilder page = new StringBuilder();
    kept.forEach(
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
