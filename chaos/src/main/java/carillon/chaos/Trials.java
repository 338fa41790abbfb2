package carillon.chaos;

import carillon.chaos.cluster.Api;
import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Postgres;
import carillon.chaos.cluster.Program;
import carillon.chaos.cluster.Progress;
import carillon.chaos.cluster.SlowReports;
import carillon.chaos.faults.FaultInjector;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.load.Load;
import carillon.chaos.load.PoisonTarget;
import carillon.chaos.load.ScriptedClient;
import carillon.chaos.load.Tenants;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.mutants.MutantMaker;
import carillon.chaos.report.Exposure;
import carillon.chaos.report.Exposure.Counter;
import carillon.chaos.report.HarnessProblems;
import carillon.chaos.report.Trial;
import carillon.chaos.report.ViolationListing;
import carillon.chaos.rules.Findings;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Runs each mutant in the scenario that exposes it, and the unmodified program in the same
 * scenarios. The mutant must break its rule; the unmodified program must break none.
 */
public final class Trials {

  private static final int MAX_PARALLEL = 3;
  private static final long SEED = 1;

  /** How many suspects of one crash a node with the default concurrency may run at once. */
  private static final int GROUP = 23;

  /** How many of the suspects that wait are cancelled. */
  private static final int HELD_BACK = 6;

  private final Path root;
  private final Path directory;
  private final Path binaries;
  private final Postgres postgres;
  private final Progress progress;
  private final Semaphore permits = new Semaphore(MAX_PARALLEL);

  /**
   * @param binaries of PostgreSQL, for scenarios that need their own server
   * @param postgres shared by the other scenarios
   */
  public Trials(Path root, Path directory, Path binaries, Postgres postgres, Progress progress) {
    this.root = root;
    this.directory = directory;
    this.binaries = binaries;
    this.postgres = postgres;
    this.progress = progress;
  }

  /**
   * Returns the trials of the mutants, in order, then those of the unmodified program in the same
   * scenarios.
   */
  public List<Trial> of(List<Mutant> mutants) throws InterruptedException {
    Set<Mutant.Scenario> scenarios = new LinkedHashSet<>();
    List<Trial> trials = new ArrayList<>();
    for (Mutant mutant : mutants) {
      scenarios.add(mutant.scenario());
      trials.add(Trial.unfinished(mutant, mutant.scenario()));
    }
    scenarios.forEach(scenario -> trials.add(Trial.unfinished(null, scenario)));
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < trials.size(); i++) {
      int index = i;
      Trial planned = trials.get(i);
      threads.add(Thread.ofVirtual().start(() -> set(trials, index, runLimited(planned))));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    synchronized (trials) {
      return List.copyOf(trials);
    }
  }

  private static void set(List<Trial> trials, int index, Trial trial) {
    synchronized (trials) {
      trials.set(index, trial);
    }
  }

  private Trial runLimited(Trial planned) {
    permits.acquireUninterruptibly();
    try {
      return trial(planned.mutant(), planned.scenario());
    } finally {
      permits.release();
    }
  }

  @SuppressWarnings("CatchingUnchecked") // whatever failed, the trial has no result
  private Trial trial(@Nullable Mutant mutant, Mutant.Scenario scenario) {
    String name = mutant == null ? "unmodified_" + scenario.name() : mutant.name();
    Trial trial;
    try {
      History history = run(mutant, scenario, name.toLowerCase(Locale.ROOT));
      trial = evaluate(mutant, scenario, history);
    } catch (Throwable e) {
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      trial = new Trial(mutant, scenario, List.of(), String.valueOf(e), "");
    }
    progress.step(trial.name() + (trial.isPassed() ? " passed" : " NOT PASSED"));
    return trial;
  }

  /**
   * Applies the rules to the history of a mutant or of the unmodified program, which also needs
   * enough exposure to pass.
   */
  static Trial evaluate(@Nullable Mutant mutant, Mutant.Scenario scenario, History history) {
    List<Violation> found = Findings.of(history).failures();
    List<String> problems = new ArrayList<>(HarnessProblems.in(history));
    if (mutant == null) {
      problems.addAll(missingExposure(scenario, history));
    }
    String problem = problems.isEmpty() ? null : String.join("; ", problems);
    Trial trial = new Trial(mutant, scenario, List.copyOf(found), problem, "");
    return trial.isPassed()
        ? trial
        : new Trial(
            mutant,
            scenario,
            trial.found(),
            problem,
            ViolationListing.of(trial.name(), history, found));
  }

  /** Without exposure no rule can be broken. */
  private static List<String> missingExposure(Mutant.Scenario scenario, History history) {
    Exposure exposure = Exposure.of(List.of(history));
    long dials = history.events().stream().filter(event -> event.is("dial")).count();
    long kills = history.events().stream().filter(event -> event.is("poison-kill")).count();
    long outlasted = history.events().stream().filter(event -> event.is("outlasted")).count();
    long fenced = history.events().stream().filter(event -> event.is("fenced")).count();
    List<String> missing = new ArrayList<>();
    require(exposure.of(Counter.ACKNOWLEDGED), minAcknowledged(scenario), "submits", missing);
    switch (scenario) {
      case WORKERS -> {
        require(exposure.of(Counter.PULLED), 50, "completions by workers", missing);
        require(outlasted, 2, "reports that outlasted their lease", missing);
        require(fenced, 1, "late reports under a claim that holds another task", missing);
      }
      case DELIVERIES -> {
        require(exposure.of(Counter.DELIVERIES), 80, "deliveries", missing);
        require(exposure.of(Counter.CANCELS), 10, "cancels", missing);
        require(exposure.of(Counter.IMMEDIATE_STARTS), 10, "immediate starts", missing);
      }
      case SCHEDULES, LEADER_PAUSE -> {
        require(exposure.of(Counter.FIRES), 15, "fires", missing);
        require(exposure.of(Counter.DELIVERIES), 15, "deliveries", missing);
      }
      case NAMES -> require(dials, 20, "dials", missing);
      case POISON -> require(kills, 3, "kills by a poison task", missing);
      case SUSPECTS ->
          require(
              exposure.of(Counter.CANCELS_HELD_BACK),
              3,
              "cancels of suspects that are held back",
              missing);
      case EDITS ->
          require(exposure.of(Counter.EDITS_RACING), 8, "edits just before a claim", missing);
      case DATABASE_CRASH, NODE_CRASH -> {}
    }
    return missing;
  }

  private static long minAcknowledged(Mutant.Scenario scenario) {
    return switch (scenario) {
      case WORKERS, DELIVERIES, DATABASE_CRASH, NODE_CRASH -> 100;
      case SCHEDULES, LEADER_PAUSE, NAMES, POISON, SUSPECTS, EDITS -> 10;
    };
  }

  private static void require(long count, long minimum, String what, List<String> missing) {
    if (count < minimum) {
      missing.add("only %d %s, which proves nothing".formatted(count, what));
    }
  }

  private History run(@Nullable Mutant mutant, Mutant.Scenario scenario, String name)
      throws IOException, SQLException, InterruptedException {
    Path place = Files.createDirectories(directory.resolve(name)).toAbsolutePath();
    List<Path> before = new ArrayList<>();
    if (mutant != null && !mutant.edits().isEmpty()) {
      Path classes = place.resolve("classes");
      new MutantMaker(root.resolve("server/target/carillon-server.jar")).make(mutant, classes);
      before.add(classes);
    }
    Program program = Program.built(root, before);
    Cluster.Settings settings = Cluster.Settings.of(program).with(scenario.nodes(), List.of());
    Scenario trialScenario =
        Scenario.directed(name, SEED, settings, load(scenario), Duration.ZERO, List.of());
    Run.Body body =
        (cluster, load) -> {
          for (String sql : mutant == null ? List.<String>of() : mutant.sql()) {
            execute(cluster, sql);
          }
          body(scenario).run(cluster, load);
        };
    if (!scenario.needsOwnDatabase()) {
      return Run.of(trialScenario, postgres, place, progress, body);
    }
    try (Postgres own = Postgres.start(place, binaries)) {
      return Run.of(trialScenario, own, place, progress, body);
    }
  }

  private static void execute(Cluster cluster, String sql) throws SQLException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private static Load.Profile load(Mutant.Scenario scenario) {
    return switch (scenario) {
      case WORKERS -> profile(80, Map.of(Load.Action.SUBMIT_PULLED, 1), 6, 0);
      case DELIVERIES ->
          profile(
              90,
              Map.of(
                  Load.Action.SUBMIT_WEB, 50,
                  Load.Action.CANCEL, 5,
                  Load.Action.CANCEL_RUNNING, 15,
                  Load.Action.GET, 5,
                  Load.Action.FOREIGN_GET, 10,
                  Load.Action.REDRIVE, 15),
              0,
              0);
      case DATABASE_CRASH, NODE_CRASH ->
          profile(120, Map.of(Load.Action.SUBMIT_DISCARDED, 1), 0, 0);
      case SCHEDULES, LEADER_PAUSE -> profile(10, Map.of(Load.Action.SUBMIT_WEB, 1), 0, 16);
      case NAMES, POISON, SUSPECTS, EDITS ->
          profile(2, Map.of(Load.Action.SUBMIT_DISCARDED, 1), 0, 0);
    };
  }

  private static Load.Profile profile(
      double rate, Map<Load.Action, Integer> weights, int workers, int schedules) {
    return new Load.Profile(2, 12, rate, weights, workers, schedules);
  }

  private static Run.Body body(Mutant.Scenario scenario) {
    return switch (scenario) {
      case WORKERS -> Trials::workers;
      case DELIVERIES -> (_, _) -> Thread.sleep(Duration.ofSeconds(6));
      case DATABASE_CRASH -> Trials::crashDatabase;
      case NODE_CRASH -> Trials::crashNode;
      case SCHEDULES -> (_, _) -> Thread.sleep(Duration.ofSeconds(6));
      case LEADER_PAUSE -> Trials::pauseLeader;
      case NAMES -> Trials::names;
      case POISON -> Trials::poison;
      case SUSPECTS -> Trials::suspects;
      case EDITS -> Trials::edits;
    };
  }

  /**
   * Adds workers that report after another worker has claimed their task: one whose claim is gone,
   * and one whose claim still holds another task.
   */
  private static void workers(Cluster cluster, Load load) throws IOException, InterruptedException {
    ScriptedClient tenant = new ScriptedClient(cluster, load.tenants().getFirst());
    cluster.callSuccessfully(
        Api.Call.put(
            "/v1/types/slow",
            load.tenants().getFirst().key(),
            "{\"target\": {\"pull\": {}}, \"retry\": %s}"
                .formatted(Load.retry(Load.MAX_ATTEMPTS))));
    for (int i = 0; i < 2; i++) {
      tenant.submit("slow", "pull", "");
      ScriptedClient.Held late = tenant.claim("slow", "late", "1s");
      ScriptedClient.Held current = tenant.claim("slow", "current", "30s");
      tenant.report(late, "completed");
      tenant.report(current, "completed");
      reportUnderLiveClaim(cluster, tenant);
    }
    outlast(cluster, tenant);
  }

  /** The claim of the late report exists, so that only the fence can tell that it is late. */
  private static void reportUnderLiveClaim(Cluster cluster, ScriptedClient tenant)
      throws IOException, InterruptedException {
    tenant.submit("slow", "pull", "");
    tenant.submit("slow", "pull", "");
    List<ScriptedClient.Held> both = tenant.claim("slow", "late", "1s", 2);
    ScriptedClient.Held kept = both.getLast();
    tenant.renew(kept, "30s");
    ScriptedClient.Held current = tenant.claim("slow", "current", "30s");
    ScriptedClient.Held late = both.getFirst();
    if (current.id().equals(late.id()) && tenant.report(late, "completed").equals("stale")) {
      cluster.recorder().event("fenced", Fields.of("task", late.id()));
    }
    tenant.report(current, "completed");
    tenant.report(kept, "completed");
  }

  /**
   * Adds reports that start in time and are still in progress when the reaper looks for expired
   * claims.
   */
  private static void outlast(Cluster cluster, ScriptedClient tenant)
      throws IOException, InterruptedException {
    Queue<ScriptedClient.Held> lost = new ConcurrentLinkedQueue<>();
    List<Thread> reports = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      tenant.submit("slow", "pull", "");
      ScriptedClient.Held held = tenant.claim("slow", SlowReports.WORKER, "1s");
      reports.add(
          HarnessThread.start(
              cluster.recorder(), "outlast-" + i, () -> report(cluster, tenant, held, lost)));
    }
    for (Thread report : reports) {
      report.join();
    }
    for (ScriptedClient.Held _ : lost) {
      tenant.report(tenant.claim("slow", "current", "30s"), "completed");
    }
  }

  private static void report(
      Cluster cluster,
      ScriptedClient tenant,
      ScriptedClient.Held held,
      Queue<ScriptedClient.Held> lost) {
    long expired = System.nanoTime() + Duration.ofSeconds(1).toNanos();
    try {
      boolean isAccepted = tenant.report(held, "completed").equals("accepted");
      if (!isAccepted) {
        lost.add(held);
      } else if (System.nanoTime() - expired > Duration.ofSeconds(1).toNanos()) {
        cluster.recorder().event("outlasted", Fields.of("task", held.id()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Records the start of a fault, as the nemesis does, so that it can explain duplicates. */
  private static Fields start(Cluster cluster, String fault, int id, @Nullable Node node) {
    Fields fields =
        Fields.of("fault", fault).and("id", id).and("node", node == null ? null : node.label());
    cluster.recorder().event("fault-start", fields);
    return fields;
  }

  private static void crashDatabase(Cluster cluster, Load load)
      throws IOException, InterruptedException {
    for (int i = 0; i < 2; i++) {
      Thread.sleep(Duration.ofSeconds(3));
      Fields fault = start(cluster, "pg-crash", i, null);
      cluster.postgres().restart(Postgres.Stop.IMMEDIATE, Duration.ofMillis(200));
      cluster.recorder().event("fault-end", fault);
    }
    Thread.sleep(Duration.ofSeconds(2));
  }

  private static void crashNode(Cluster cluster, Load load)
      throws IOException, InterruptedException {
    Node node = cluster.nodes().getFirst();
    for (int i = 0; i < 2; i++) {
      Thread.sleep(Duration.ofMillis(1500));
      Fields fault = start(cluster, "kill9", i, node);
      node.kill9();
      node.start();
      cluster.awaitReady(node);
      cluster.recorder().event("fault-end", fault);
    }
    Thread.sleep(Duration.ofSeconds(1));
  }

  /**
   * Pauses the leader for longer than the leader lease, but shorter than a node's, so that it stays
   * a member.
   */
  private static void pauseLeader(Cluster cluster, Load load)
      throws InterruptedException, SQLException {
    Duration lease = cluster.settings().lease();
    Thread.sleep(Duration.ofSeconds(1));
    Node leader = new FaultInjector(cluster).leader().orElse(cluster.nodes().getFirst());
    Fields fault = start(cluster, "leader-pause", 1, leader);
    leader.suspend();
    try {
      Thread.sleep(lease.multipliedBy(3).dividedBy(4));
    } finally {
      leader.resume();
      cluster.recorder().event("fault-end", fault);
    }
    Thread.sleep(Duration.ofSeconds(5));
  }

  private static void names(Cluster cluster, Load load) throws IOException, InterruptedException {
    ScriptedClient tenant = new ScriptedClient(cluster, load.tenants().getFirst());
    for (int i = 0; i < 60; i++) {
      tenant.submit(
          "named",
          "other",
          ", \"target\": {\"http\": {\"url\": \"%s\"}}".formatted(load.rebindingHost().url()));
    }
    Thread.sleep(Duration.ofSeconds(3));
  }

  /**
   * Returns when the poison task has killed all the nodes that it may, and the other tasks of the
   * same crashes have ended.
   */
  private static void poison(Cluster cluster, Load load)
      throws IOException, InterruptedException, SQLException {
    int innocents = 40;
    try (PoisonTarget target = PoisonTarget.start(cluster)) {
      ScriptedClient tenant = new ScriptedClient(cluster, load.tenants().getFirst());
      String poison = tenant.submit("poison", "other", target.fields(true));
      for (int i = 0; i < innocents; i++) {
        tenant.submit("innocent", "other", target.fields(false));
      }
      long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (target.seen() <= innocents && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(50));
      }
      target.killFirst(poison);
      while (target.kills() < PoisonTarget.MAX_KILLS
          && isUnfinished(cluster)
          && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(200));
      }
    }
  }

  /** Cancels suspects while their node holds them back, because no earlier group finishes. */
  private static void suspects(Cluster cluster, Load load)
      throws IOException, InterruptedException, SQLException {
    int tasks = GROUP + 17;
    try (PoisonTarget target = PoisonTarget.holding(cluster)) {
      ScriptedClient tenant = new ScriptedClient(cluster, load.tenants().getFirst());
      String first = tenant.submit("innocent", "other", target.fields(false));
      for (int i = 1; i < tasks; i++) {
        tenant.submit("innocent", "other", target.fields(false));
      }
      long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (target.seen() < tasks && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(50));
      }
      target.killFirst(first);
      List<String> held = heldBack(cluster);
      while (held.size() < HELD_BACK && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(50));
        held = heldBack(cluster);
      }
      for (String id : held) {
        tenant.cancel(id);
      }
      target.answer();
      while (isUnfinished(cluster) && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(50));
      }
    }
  }

  /** Edits tasks one after the other, as fast as possible, from before they are due. */
  private static void edits(Cluster cluster, Load load) throws IOException, InterruptedException {
    ScriptedClient tenant = new ScriptedClient(cluster, load.tenants().getFirst());
    for (int i = 0; i < 15; i++) {
      String id = tenant.submitDue(Tenants.WEB, "http", Duration.ofMillis(200));
      long end = System.nanoTime() + Duration.ofSeconds(2).toNanos();
      while (tenant.edit(id) && System.nanoTime() < end) {
        Thread.sleep(Duration.ofMillis(2)); // a claim skips a task while it is edited
      }
    }
  }

  /** Some suspects that their node has not started yet, those with the last turns. */
  private static List<String> heldBack(Cluster cluster) throws SQLException {
    List<String> ids = new ArrayList<>();
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT t.id
                FROM carillon.every_task t
                JOIN carillon.lane l ON l.id = t.lane
                JOIN carillon.node n ON n.id = t.leased_by AND n.lease_until > clock_timestamp()
                WHERE t.state = 'RUNNING'
                  AND t.crashes > 0
                  AND t.id <> ALL (n.suspects)
                  AND cardinality(n.suspects) >= %d
                  AND l.type = 'innocent'
                ORDER BY t.started_at DESC, t.id DESC
                LIMIT %d
                """
                    .formatted(GROUP, HELD_BACK))) {
      while (rows.next()) {
        ids.add(rows.getString(1));
      }
    }
    return ids;
  }

  private static boolean isUnfinished(Cluster cluster) throws SQLException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane"
                    + " WHERE t.state = 'PENDING' AND l.type IN ('poison', 'innocent') LIMIT 1")) {
      return rows.next();
    }
  }
}
