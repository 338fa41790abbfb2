package carillon.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Runs the scenarios one after the other and writes down what came out. */
public final class Main {

  private static final Path DIRECTORY = Path.of("bench/target/run").toAbsolutePath();

  private static final String NOTES =
      """
      Rates are by the database: from the first `started_at` to the last `finished_at` (enqueue and bulk: by the
      sender's clock). CPU is in seconds per 10,000 tasks, of the program under measurement and of all processes of
      PostgreSQL; log and statements (`pg_stat_statements`, top level) are per task. `other cores` is what everything
      else on the machine used meanwhile: above 0.1 the row is a lower bound. Times are: enqueue and bulk, a request;
      lateness, due to started; burst, due to finished; http, started to finished; pull, a claim of up to 500.
      `sql` is the limit: the same writes as plain statements in batches of 2,000 on two connections, no scheduler.
      """;

  private final Options options;
  private final Sizes sizes;
  private final Progress progress = new Progress(System.err, Boolean.getBoolean("bench.terminal"));
  private final Results results = new Results();

  private Main(Options options) {
    this.options = options;
    this.sizes = options.quick() ? Sizes.QUICK : Sizes.FULL;
  }

  public static void main(String... arguments)
      throws IOException, InterruptedException, SQLException {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.print("bench: " + e.getMessage() + "\nUsage: " + Options.USAGE);
      System.exit(2);
      return;
    }
    new Main(options).run();
  }

  /** Starts a system on a store of its own. */
  private interface Start<C extends Contender> {
    C start() throws IOException, SQLException;
  }

  private void run() throws IOException, InterruptedException, SQLException {
    Instant began = Instant.now();
    progress.title("PostgreSQL");
    progress.step("starting");
    delete(DIRECTORY);
    Files.createDirectories(DIRECTORY);
    try (Postgres postgres = Postgres.start(DIRECTORY)) {
      Map<String, String> facts = new LinkedHashMap<>();
      facts.put("date", began.truncatedTo(ChronoUnit.SECONDS).toString());
      facts.put("commit", Machine.commit());
      facts.put("command", options.quick() ? "`make bench-quick`" : "`make bench`");
      facts.put("machine", Machine.describe(DIRECTORY));
      facts.put("sizes", sizes.toString());
      progress.done(postgres.settings().toString());
      measureAll(new Systems(postgres, DIRECTORY, options.server()));
      facts.put("took", Duration.between(began, Instant.now()).toSeconds() + " s");
      System.out.print(Report.table(results));
      write(facts, postgres.settings());
    }
    delete(DIRECTORY);
  }

  private void measureAll(Systems systems) throws InterruptedException {
    Start<CarillonServer> carillon = systems::carillon;
    Start<SqlLimit> sql = systems::sql;
    List<String> peers = options.quick() ? List.of() : List.of("db-scheduler");

    measure("drain", Drain.ALONE, "carillon", carillon);
    measure("drain", Drain.ALONE, "sql", sql);
    measure("drain", Drain.ALONE, "db-scheduler", () -> systems.peer("db-scheduler"));

    measure("enqueue", HandIn.ONE_BY_ONE, "carillon", carillon);
    for (String peer : peers) {
      measure("enqueue", HandIn.ONE_BY_ONE, peer, () -> systems.peer(peer));
    }
    measure("bulk", HandIn.IN_BULK, "carillon", carillon);
    for (String peer : peers) {
      measure("bulk", HandIn.IN_BULK, peer, () -> systems.peer(peer));
    }
    measure("lateness", OnTime.LATENESS, "carillon", carillon);
    for (String peer : peers) {
      measure("lateness", OnTime.LATENESS, peer, () -> systems.peer(peer));
    }
    measure("burst", OnTime.BURST, "carillon", carillon);
    for (String peer : peers) {
      measure("burst", OnTime.BURST, peer, () -> systems.peer(peer));
    }
    measure("growth", Drain.GROWTH, "carillon", carillon);
    measure("snapshot", Drain.SNAPSHOT, "carillon", carillon);
    measure("lanes", new Lanes(), "carillon", carillon);
    measure("http", new Delivery(), "carillon", carillon);
    measure("pull", new Pull(), "carillon", carillon);
    if (!options.quick()) {
      measure("growth", Drain.GROWTH, "sql", sql);
      measure("snapshot", Drain.SNAPSHOT, "sql", sql);
    }
  }

  /** What goes wrong here is written down and does not end the run. */
  private <C extends Contender> void measure(
      String scenario, Scenario<? super C> what, String system, Start<C> start)
      throws InterruptedException {
    if (!options.wants(scenario, system)) {
      return;
    }
    progress.title(scenario + ", " + system);
    progress.step("starting");
    try (C contender = start.start()) {
      results.settings(system, contender.settings());
      Figures figures = what.run(contender, new Stage(sizes.of(system), progress));
      results.add(scenario, system, figures);
      progress.done(summary(figures));
      if (options.statements() && contender.store() instanceof Database database) {
        System.out.println(database.topStatements());
      }
    } catch (IOException | SQLException | RuntimeException e) {
      results.failed(scenario, system, String.valueOf(e.getMessage()));
      progress.done("FAILED: " + e);
    }
  }

  private static String summary(Figures figures) {
    StringBuilder text = new StringBuilder();
    for (Metric metric : List.of(Metric.RATE, Metric.P50, Metric.P99, Metric.MAX)) {
      if (figures.has(metric)) {
        text.append(Report.number(figures.get(metric), metric.decimals))
            .append(' ')
            .append(metric.heading)
            .append("  ");
      }
    }
    return text.toString();
  }

  private void write(Map<String, String> facts, Map<String, String> settings) throws IOException {
    Files.createDirectories(options.out());
    Files.writeString(options.out().resolve("latest.json"), Report.json(results));
    Files.writeString(
        options.out().resolve("README.md"), Report.page(results, facts, settings, NOTES));
    for (Map.Entry<String, String> chart : Report.charts(results).entrySet()) {
      Files.writeString(options.out().resolve(chart.getKey()), chart.getValue());
    }
  }

  private static void delete(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> paths = Files.walk(directory)) {
        for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(path);
        }
      }
    }
  }
}
