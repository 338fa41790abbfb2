package carillon.chaos;

import carillon.chaos.history.History;
import carillon.chaos.mutants.Mutant;
import carillon.chaos.mutants.MutantMaker;
import carillon.chaos.rules.Rule;
import carillon.chaos.rules.Verdict;
import carillon.chaos.rules.Violation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * Plays to each mutant the scenario that exposes it, and the same scenarios to the program as it
 * is: the one must be caught by its rule, the other must break none.
 */
public final class Trials {

  private static final int AT_ONCE = 3;
  private static final long SEED = 1;

  private final Path root;
  private final Path directory;
  private final Postgres postgres;
  private final Progress progress;
  private final Semaphore places = new Semaphore(AT_ONCE);

  /**
   * What came of one.
   *
   * @param mutant null for the program as it is
   * @param found what rules found; all of it where the program should be right
   * @param trouble why it could not be played; null if it was
   */
  public record Trial(
      @Nullable Mutant mutant,
      Mutant.Scenario scenario,
      List<Violation> found,
      @Nullable String trouble,
      Duration took) {

    /** Whether it is as it should be. */
    public boolean isPassed() {
      if (trouble != null) {
        return false;
      }
      return mutant == null
          ? found.isEmpty()
          : found.stream().anyMatch(violation -> violation.rule() == mutant.caughtBy());
    }

    public String name() {
      return mutant == null ? "as it is, " + scenario.name() : mutant.name();
    }
  }

  public Trials(Path root, Path directory, Postgres postgres, Progress progress) {
    this.root = root;
    this.directory = directory;
    this.postgres = postgres;
    this.progress = progress;
  }

  /** Mutants in the order given, then the program as it is in the scenarios that they needed. */
  public List<Trial> of(List<Mutant> mutants) throws InterruptedException {
    Set<Mutant.Scenario> scenarios = new LinkedHashSet<>();
    List<@Nullable Trial> trials = new ArrayList<>();
    List<Runnable> together = new ArrayList<>();
    List<Runnable> alone = new ArrayList<>();
    for (Mutant mutant : mutants) {
      scenarios.add(mutant.scenario());
      int place = trials.size();
      trials.add(null);
      (mutant.scenario().isAlone() ? alone : together)
          .add(() -> set(trials, place, trial(mutant, mutant.scenario())));
    }
    for (Mutant.Scenario scenario : scenarios) {
      int place = trials.size();
      trials.add(null);
      (scenario.isAlone() ? alone : together).add(() -> set(trials, place, trial(null, scenario)));
    }
    List<Thread> threads = new ArrayList<>();
    for (Runnable each : together) {
      threads.add(Thread.ofVirtual().start(() -> inItsPlace(each)));
    }
    for (Thread thread : threads) {
      thread.join();
    }
    alone.forEach(Runnable::run);
    List<Trial> done = new ArrayList<>();
    trials.forEach(
        trial -> {
          if (trial != null) {
            done.add(trial);
          }
        });
    return done;
  }

  private static void set(List<@Nullable Trial> trials, int place, Trial trial) {
    synchronized (trials) {
      trials.set(place, trial);
    }
  }

  private void inItsPlace(Runnable trial) {
    places.acquireUninterruptibly();
    try {
      trial.run();
    } finally {
      places.release();
    }
  }

  private Trial trial(@Nullable Mutant mutant, Mutant.Scenario scenario) {
    long began = System.nanoTime();
    String name = mutant == null ? "asis_" + scenario.name() : mutant.name();
    List<Violation> found = List.of();
    String trouble = null;
    try {
      Verdict verdict = Verdict.on(play(mutant, scenario, name.toLowerCase(Locale.ROOT)));
      found = verdict.failures();
    } catch (IOException | SQLException | RuntimeException e) {
      trouble = String.valueOf(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      trouble = String.valueOf(e);
    }
    Duration took = Duration.ofNanos(System.nanoTime() - began);
    Trial trial = new Trial(mutant, scenario, List.copyOf(found), trouble, took);
    progress.step(trial.name() + (trial.isPassed() ? " as it should be" : " NOT as it should be"));
    return trial;
  }

  private History play(@Nullable Mutant mutant, Mutant.Scenario scenario, String name)
      throws IOException, SQLException, InterruptedException {
    Path place = Files.createDirectories(directory.resolve(name)).toAbsolutePath();
    List<Path> before = new ArrayList<>();
    if (mutant != null && !mutant.edits().isEmpty()) {
      Path classes = place.resolve("classes");
      new MutantMaker(root.resolve("server/target/carillon-server.jar")).make(mutant, classes);
      before.add(classes);
    }
    Path hosts = place.resolve("hosts");
    Program program = Program.built(root, before);
    List<String> options = List.of();
    if (scenario == Mutant.Scenario.NAMES) {
      program = program.with(FlippingName.flags(hosts));
      options = List.of("--allow-targets", FlippingName.ALLOWED + "/32");
    }
    Cluster.Settings settings = Cluster.Settings.of(program).with(scenario.nodes(), options);
    Scenario played =
        Scenario.directed(name, SEED, settings, load(scenario), Duration.ZERO, List.of());
    return Run.of(
        played,
        postgres,
        place,
        progress,
        (cluster, load) -> {
          for (String sql : mutant == null ? List.<String>of() : mutant.sql()) {
            execute(cluster, sql);
          }
          course(scenario, hosts).run(cluster, load);
        });
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
      case DATABASE_CRASH, NODE_CRASH -> profile(120, Map.of(Load.Action.SUBMIT_KEPT, 1), 0, 0);
      case SCHEDULES, LEADER_PAUSE -> profile(10, Map.of(Load.Action.SUBMIT_WEB, 1), 0, 16);
      case NAMES -> profile(2, Map.of(Load.Action.SUBMIT_KEPT, 1), 0, 0);
    };
  }

  private static Load.Profile profile(
      double rate, Map<Load.Action, Integer> weights, int workers, int schedules) {
    return new Load.Profile(2, 12, rate, weights, workers, schedules);
  }

  private static Run.Course course(Mutant.Scenario scenario, Path hosts) {
    return switch (scenario) {
      case WORKERS -> Trials::workers;
      case DELIVERIES -> (_, _) -> Thread.sleep(Duration.ofSeconds(6));
      case DATABASE_CRASH -> Trials::crashDatabase;
      case NODE_CRASH -> Trials::crashNode;
      case SCHEDULES -> (_, _) -> Thread.sleep(Duration.ofSeconds(6));
      case LEADER_PAUSE -> Trials::pauseLeader;
      case NAMES -> (cluster, load) -> names(cluster, load, hosts);
    };
  }

  /** Beside the load, one worker that reports when another has its task already. */
  private static void workers(Cluster cluster, Load load) throws IOException, InterruptedException {
    Directed tenant = new Directed(cluster, load.tenants().getFirst());
    cluster.must(
        Api.Call.put(
            "/v1/types/slow",
            load.tenants().getFirst().key(),
            "{\"target\": {\"pull\": {}}, \"retry\": %s}"
                .formatted(Load.retry(Load.MAX_ATTEMPTS))));
    for (int i = 0; i < 2; i++) {
      tenant.submit("slow", "pull", "");
      Directed.Held late = tenant.claim("slow", "late", "1s");
      Directed.Held current = tenant.claim("slow", "current", "30s");
      tenant.report(late, "completed");
      tenant.report(current, "completed");
    }
    Thread.sleep(Duration.ofSeconds(2));
  }

  private static void crashDatabase(Cluster cluster, Load load)
      throws IOException, InterruptedException {
    for (int i = 0; i < 2; i++) {
      Thread.sleep(Duration.ofSeconds(3));
      cluster.postgres().restart(Postgres.Stop.IMMEDIATE, Duration.ofMillis(200));
    }
    Thread.sleep(Duration.ofSeconds(2));
  }

  private static void crashNode(Cluster cluster, Load load)
      throws IOException, InterruptedException {
    Node node = cluster.nodes().getFirst();
    for (int i = 0; i < 2; i++) {
      Thread.sleep(Duration.ofMillis(1500));
      node.kill9();
      node.start();
      cluster.awaitReady(node);
    }
    Thread.sleep(Duration.ofSeconds(1));
  }

  /** Longer than the leader's lease, and shorter than a node's: it stays a member. */
  private static void pauseLeader(Cluster cluster, Load load)
      throws InterruptedException, SQLException {
    Duration lease = cluster.settings().lease();
    Thread.sleep(Duration.ofSeconds(1));
    Node leader = new Faults(cluster).leader().orElse(cluster.nodes().getFirst());
    leader.suspend();
    try {
      Thread.sleep(lease.multipliedBy(3).dividedBy(4));
    } finally {
      leader.resume();
    }
    Thread.sleep(Duration.ofSeconds(5));
  }

  private static void names(Cluster cluster, Load load, Path hosts)
      throws IOException, InterruptedException {
    try (FlippingName name = FlippingName.start(hosts, cluster.recorder())) {
      Directed tenant = new Directed(cluster, load.tenants().getFirst());
      for (int i = 0; i < 60; i++) {
        tenant.submit(
            "named", "other", ", \"target\": {\"http\": {\"url\": \"%s\"}}".formatted(name.url()));
      }
      Thread.sleep(Duration.ofSeconds(3));
    }
  }

  /** The rules that broke, for whoever reads the outcome. */
  public static Set<Rule> rules(Trial trial) {
    Set<Rule> rules = new LinkedHashSet<>();
    trial.found().forEach(violation -> rules.add(violation.rule()));
    return rules;
  }
}
