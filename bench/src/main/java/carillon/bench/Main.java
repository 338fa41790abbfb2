package carillon.bench;

import carillon.bench.dashboard.Dashboard;
import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Results;
import carillon.bench.report.DashboardReport;
import carillon.bench.report.Machine;
import carillon.bench.report.NodesReport;
import carillon.bench.report.Ratios;
import carillon.bench.report.Report;
import carillon.bench.scenarios.BigBurst;
import carillon.bench.scenarios.Delivery;
import carillon.bench.scenarios.Disk;
import carillon.bench.scenarios.Drain;
import carillon.bench.scenarios.Enqueue;
import carillon.bench.scenarios.Growth;
import carillon.bench.scenarios.Lanes;
import carillon.bench.scenarios.Nodes;
import carillon.bench.scenarios.Now;
import carillon.bench.scenarios.OnTime;
import carillon.bench.scenarios.Posts;
import carillon.bench.scenarios.Producing;
import carillon.bench.scenarios.Progress;
import carillon.bench.scenarios.Publishing;
import carillon.bench.scenarios.Pull;
import carillon.bench.scenarios.RabbitMqDelivery;
import carillon.bench.scenarios.Receiver;
import carillon.bench.scenarios.Scenario;
import carillon.bench.scenarios.Sizes;
import carillon.bench.scenarios.Stage;
import carillon.bench.scenarios.Turn;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Contender;
import carillon.bench.systems.Database;
import carillon.bench.systems.Directories;
import carillon.bench.systems.Kafka;
import carillon.bench.systems.Peer;
import carillon.bench.systems.Plans;
import carillon.bench.systems.Postgres;
import carillon.bench.systems.RabbitMq;
import carillon.bench.systems.RawLimit;
import carillon.bench.systems.SqlLimit;
import carillon.bench.systems.Store;
import carillon.bench.systems.Systems;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** Runs the scenarios one after the other and writes the report. */
public final class Main {

  private static final Path DIRECTORY = Path.of("bench/target/run").toAbsolutePath();

  private static final String NOTES =
      """
      Rates of Carillon and `sql` come from the database: first `started_at` to last `finished_at`. The other schedulers
      keep no such record: their rates are measured from when nothing has run until their own tables hold no task that is
      due and unfinished. Enqueue and bulk use the sender's clock. The rate of now is from the first request to the last
      `finished_at`. CPU is in seconds per 10,000 tasks: of all processes of the measured program, and of the server, which
      is PostgreSQL or, for BullMQ, Redis. WAL bytes and statements (`pg_stat_statements`, top level) are per task. `other
      cores` is the CPU used by programs that the benchmark did not start: above 0.1 the row is a lower bound. Enqueue has
      64 concurrent callers for every system. The other schedulers enqueue within their own process, so enqueue and bulk
      include that CPU; Carillon's tasks come over HTTP from the benchmark, whose CPU is not counted.

      Memory is the resident size of all processes of the program: `RSS` at the end of the scenario, `peak` the maximum
      since the process started. Every scenario restarts the system, so a peak covers one scenario with its warm-up; the
      target takes the highest peak. `sql` has no program: its memory is the benchmark's.

      Times: enqueue and bulk, one call; lateness and burst, due to started, and `last` is the end of the last task of a
      burst; http, started to finished (`raw`: one request); now, start of the request that creates the task to its arrival
      at the receiver; pull, one claim of up to 500. JobRunr may start a task early, by up to its poll interval; such a time
      is negative.

      `disk bytes` are those of the tables task, queue and claim with their indexes and TOAST after a VACUUM, per finished
      task; the WAL of disk is that of load and drain, without the VACUUM in between.

      `sql` is the limit: the rows that Carillon writes on a drain, written to Carillon's own tables by a loop inside
      PostgreSQL, without a scheduler or a client. `raw` is the unavoidable part: plain INSERTs, a plain COPY, plain
      requests, a plain producer. Slow schedulers get fewer tasks: %s.

      """
          .formatted(Sizes.PEERS);

  private final Options options;
  private final String command;
  private final Sizes sizes;
  private final Progress progress = new Progress(System.err, Boolean.getBoolean("bench.terminal"));
  private final Results results = new Results();
  private final Results nodes = new Results();
  private final Results dashboard = new Results();

  private Main(Options options, String command) {
    this.options = options;
    this.command = command;
    this.sizes = options.quick() ? Sizes.QUICK : Sizes.FULL;
  }

  public static void main(String... arguments)
      throws IOException, InterruptedException, SQLException {
    if (List.of(arguments).contains("--help")) {
      System.out.print("Usage: " + Options.USAGE);
      return;
    }
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.print("bench: " + e.getMessage() + "\nUsage: " + Options.USAGE);
      System.exit(2);
      return;
    }
    Runtime.getRuntime().addShutdownHook(new Thread(Main::stopDescendants));
    new Main(options, String.join(" ", "bench/run", String.join(" ", arguments)).strip()).run();
  }

  /** An interrupted run must not leave PostgreSQL or a peer process behind. */
  private static void stopDescendants() {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroy);
  }

  private void run() throws IOException, InterruptedException, SQLException {
    Instant began = Instant.now();
    progress.title("PostgreSQL");
    progress.step("starting");
    Directories.delete(DIRECTORY);
    Files.createDirectories(DIRECTORY);
    try (Postgres postgres = Postgres.start(DIRECTORY)) {
      Map<String, String> facts = new LinkedHashMap<>();
      facts.put("date", began.truncatedTo(ChronoUnit.SECONDS).toString());
      facts.put("commit", Machine.commit());
      facts.put("command", "`" + command + "`");
      facts.put("machine", Machine.describe(DIRECTORY));
      facts.put("sizes", sizes.toString());
      progress.done(postgres.settings().toString());
      Systems systems = new Systems(postgres, DIRECTORY, options.server());
      if (options.only().isEmpty() || !Options.SEPARATE.containsAll(options.only())) {
        measureAll(systems);
      }
      for (int count : Nodes.COUNTS) {
        measure(nodes, Nodes.NAME, new Nodes(), Nodes.system(count), () -> systems.cluster(count));
      }
      Plans plans = new Plans(postgres.log());
      measure(
          dashboard,
          Dashboard.NAME,
          new Dashboard(dashboard, plans),
          "carillon",
          systems::explained);
      facts.put("took", Duration.between(began, Instant.now()).toSeconds() + " s");
      Ratios.addTo(results);
      System.out.print(Report.tables(results) + Report.tables(nodes) + Report.tables(dashboard));
      write(facts, postgres.settings(), plans);
    }
    if (results.hasFailed() || nodes.hasFailed() || dashboard.hasFailed()) {
      Directories.delete(DIRECTORY.resolve("seed")); // keeps the logs
      System.err.println(
          "At least one measurement failed: see FAILED above, and the logs in " + DIRECTORY);
      System.exit(1);
    }
    Directories.delete(DIRECTORY);
  }

  /**
   * Measures the systems of a scenario one after the other. Systems that are compared closely
   * alternate instead, so that drift on the machine affects all of them equally.
   */
  private void measureAll(Systems systems) throws IOException, InterruptedException {
    Contender.Start<CarillonServer> carillon = systems::carillon;
    Contender.Start<SqlLimit> sql = systems::sql;
    Contender.Start<RawLimit> raw = systems::raw;
    List<String> peers = peers();
    List<String> peersUnlessQuick = options.quick() ? List.of() : peers;

    // First, before gigabytes are written: a disk that is catching up delays every start.
    measure("lateness", OnTime.LATENESS, "carillon", carillon);
    measure(
        "lateness",
        OnTime.LATENESS,
        without(peersUnlessQuick, "lateness", POLLS_TOO_RARELY),
        systems);

    List<Turn<?>> fast = new ArrayList<>();
    fast.add(new Turn<>("carillon", carillon, Drain.ALONE));
    fast.add(new Turn<>("sql", sql, Drain.ALONE));
    List<String> slow = new ArrayList<>(peers);
    if (slow.remove(FASTEST_PEER)) {
      fast.add(new Turn<>(FASTEST_PEER, () -> systems.peer(FASTEST_PEER), Drain.ALONE));
    }
    measureInTurns("drain", fast);
    measure("drain", Drain.ALONE, slow, systems);
    measure("lanes", new Lanes(), "carillon", carillon);
    measure("pull", new Pull(), "carillon", carillon);

    measure("growth", new Growth(carillon), "carillon", carillon);
    for (String peer : without(peersUnlessQuick, "growth", TOO_SLOW_FOR_GROWTH)) {
      Contender.Start<Peer> start = () -> systems.peer(peer);
      measure("growth", new Growth(start), peer, start);
    }
    measure("snapshot", Drain.SNAPSHOT, "carillon", carillon);
    measure(
        "snapshot", Drain.SNAPSHOT, without(peersUnlessQuick, "snapshot", NO_SNAPSHOT), systems);

    measure(Disk.NAME, new Disk(), "carillon", carillon);
    measure(Disk.NAME, new Disk(), "sql", sql);

    measure("enqueue", Enqueue.ONE_BY_ONE, "carillon", carillon);
    if (!options.quick()) {
      measure("enqueue", Enqueue.ONE_BY_ONE, "raw", raw);
    }
    measure("enqueue", Enqueue.ONE_BY_ONE, peersUnlessQuick, systems);
    measure("bulk", Enqueue.IN_BULK, "carillon", carillon);
    measure("bulk", Enqueue.IN_BULK, "raw", raw);
    measure("bulk", Enqueue.IN_BULK, peersUnlessQuick, systems);

    measure("burst", OnTime.BURST, "carillon", carillon);
    measure(
        "burst", OnTime.BURST, without(peersUnlessQuick, "burst", TOO_SLOW_FOR_A_BURST), systems);
    measure(BigBurst.NAME, new BigBurst(results), "carillon", carillon);

    try (Receiver receiver = Receiver.start()) {
      measureInTurns(
          "http",
          List.of(
              new Turn<>("carillon", carillon, new Delivery(receiver)),
              new Turn<>("raw", raw, new Posts(receiver))));
    }
    try (Now now = Now.start()) {
      measure(Now.NAME, now, "carillon", carillon);
    }
    measureKafka(systems);
    measureRabbitMq(systems);
  }

  private void measureRabbitMq(Systems systems) throws IOException, InterruptedException {
    if (!options.wants("rabbitmq", "carillon")) {
      return;
    }
    Optional<String> missing = RabbitMq.missing();
    if (missing.isPresent()) {
      results.missing("rabbitmq", missing.get());
      return;
    }
    try (RabbitMq rabbit = RabbitMq.start(DIRECTORY)) {
      measure(
          "rabbitmq",
          new RabbitMqDelivery(rabbit),
          "carillon",
          () -> systems.carillon(rabbit.options()));
    }
  }

  private void measureKafka(Systems systems) throws IOException, InterruptedException {
    if (!options.wants(Publishing.NAME, "carillon") && !options.wants(Publishing.NAME, "raw")) {
      return;
    }
    try (Kafka kafka = Kafka.start(DIRECTORY)) {
      measure(
          Publishing.NAME,
          new Publishing(),
          "carillon",
          () -> systems.carillon(List.of("--kafka", "main=" + kafka.servers())));
      Contender.Start<RawLimit> raw = systems::raw;
      measure(Publishing.NAME, new Producing(kafka.servers()), "raw", raw);
    }
  }

  /** The peer that alternates with Carillon in a drain. */
  private static final String FASTEST_PEER = "graphile-worker";

  private static final Map<String, String> TOO_SLOW_FOR_GROWTH =
      Map.of(
          "pg-boss", "would take too long; in a trial its rate fell to four tenths",
          "jobrunr", "would take too long",
          "quartz", "would take too long; in a trial its rate fell to a ninth",
          "bullmq", "would take too long; its queue is in memory");

  private static final Map<String, String> NO_SNAPSHOT =
      Map.of(
          "jobrunr", "would take too long",
          "quartz", "would take too long",
          "bullmq", "Redis has no snapshots");

  private static final Map<String, String> TOO_SLOW_FOR_A_BURST =
      Map.of(
          "jobrunr", "polls every five seconds at most, and would take minutes at its rate",
          "quartz", "would take minutes at its rate");

  private static final Map<String, String> POLLS_TOO_RARELY =
      Map.of("jobrunr", "polls every five seconds at most");

  /** Returns the peers that can run on this machine; prints why the others cannot. */
  private List<String> peers() throws IOException, InterruptedException {
    if (options.quick()) {
      System.err.println(
          "Other schedulers: only db-scheduler's drain. `make bench` runs all of them.");
      if (options.only().isEmpty()) {
        System.err.println("Skipped: " + String.join(", ", new TreeSet<>(Options.LONG)));
      }
      return List.of("db-scheduler");
    }
    List<String> peers = new ArrayList<>();
    for (String peer : Systems.PEERS) {
      if (options.systems().isEmpty() || options.systems().contains(peer)) {
        progress.title(peer);
        progress.step("checking availability");
        Optional<String> missing = Systems.missing(peer);
        if (missing.isPresent()) {
          progress.done("NOT RUN: " + missing.get());
          results.missing(peer, missing.get());
        } else {
          peers.add(peer);
        }
      }
    }
    return peers;
  }

  /** Removes the excluded peers and records the reason for each in the results. */
  private List<String> without(List<String> peers, String scenario, Map<String, String> excluded) {
    List<String> rest = new ArrayList<>(peers);
    for (String peer : peers) {
      String why = excluded.get(peer);
      if (why != null) {
        rest.remove(peer);
        if (options.wants(scenario, peer)) {
          results.skipped(scenario, peer, why);
        }
      }
    }
    return rest;
  }

  private void measure(
      String scenario, Scenario<? super Peer> what, List<String> peers, Systems systems)
      throws InterruptedException {
    for (String peer : peers) {
      measure(scenario, what, peer, () -> systems.peer(peer));
    }
  }

  private <C extends Contender> void measure(
      String scenario, Scenario<? super C> what, String system, Contender.Start<C> start)
      throws InterruptedException {
    measure(results, scenario, what, system, start);
  }

  /** A failure is recorded in the results and does not stop the run. */
  private <C extends Contender> void measure(
      Results into,
      String scenario,
      Scenario<? super C> what,
      String system,
      Contender.Start<C> start)
      throws InterruptedException {
    if (!options.wants(scenario, system)) {
      return;
    }
    progress.title(scenario + ", " + system);
    progress.step("starting");
    try (C contender = start.start()) {
      into.settings(system, contender.settings());
      Figures figures = what.run(contender, stage(system));
      into.add(scenario, system, figures);
      progress.done(summary(figures));
      printStatements(contender.store());
    } catch (IOException | SQLException | RuntimeException e) {
      into.failed(scenario, system, String.valueOf(e.getMessage()));
      progress.done("FAILED: " + e);
    }
  }

  private void printStatements(Store store) throws SQLException {
    if (options.statements() && store instanceof Database database) {
      System.out.println(database.topStatements());
    }
  }

  /**
   * Runs one round of each wanted system in turn, then the next round; a system that fails is
   * dropped.
   */
  private void measureInTurns(String scenario, List<Turn<?>> all) throws InterruptedException {
    List<Turn<?>> turns = new ArrayList<>(all);
    turns.removeIf(turn -> !options.wants(scenario, turn.system()));
    try {
      each(scenario, turns, this::start);
      for (int round = 0; round < sizes.rounds(); round++) {
        each(scenario, turns, turn -> turn.round(stage(turn.system())));
      }
      each(
          scenario,
          turns,
          turn -> {
            results.add(scenario, turn.system(), turn.median());
            progress.done(summary(turn.median()));
            printStatements(turn.store());
          });
    } finally {
      each(scenario, new ArrayList<>(all), Turn::close);
    }
  }

  private void start(Turn<?> turn) throws IOException, SQLException, InterruptedException {
    progress.step("starting");
    results.settings(turn.system(), turn.start(stage(turn.system())).settings());
  }

  private Stage stage(String system) {
    return new Stage(sizes.of(system), progress);
  }

  private interface Step {
    void of(Turn<?> turn) throws IOException, SQLException, InterruptedException;
  }

  private void each(String scenario, List<Turn<?>> turns, Step step) throws InterruptedException {
    for (Turn<?> turn : List.copyOf(turns)) {
      progress.title(scenario + ", " + turn.system());
      try {
        step.of(turn);
      } catch (IOException | SQLException | RuntimeException e) {
        results.failed(scenario, turn.system(), String.valueOf(e.getMessage()));
        progress.done("FAILED: " + e);
        turns.remove(turn);
      }
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

  private void write(Map<String, String> facts, Map<String, String> settings, Plans plans)
      throws IOException {
    Map<String, String> withSettings = new LinkedHashMap<>(facts);
    withSettings.put("PostgreSQL", Report.listed(settings));
    if (!nodes.scenarios().isEmpty()) {
      NodesReport.write(nodes, withSettings, options.out());
    }
    if (!dashboard.scenarios().isEmpty()) {
      DashboardReport.write(dashboard, withSettings, plans.page(), options.out());
    }
    if (results.scenarios().isEmpty()) {
      return;
    }
    Files.createDirectories(options.out());
    Files.writeString(options.out().resolve("latest.json"), Report.json(results));
    Files.writeString(
        options.out().resolve("README.md"),
        Report.page(results, facts, settings, sizes.bigBurst(), NOTES + Ratios.NOTES));
    for (Map.Entry<String, String> chart : Report.charts(results).entrySet()) {
      Files.writeString(options.out().resolve(chart.getKey()), chart.getValue());
    }
  }
}
