package carillon.chaos;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.DeadlockLog;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Postgres;
import carillon.chaos.cluster.Progress;
import carillon.chaos.cluster.RebindingHost;
import carillon.chaos.faults.Nemesis;
import carillon.chaos.faults.PlannedFault;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Recorder;
import carillon.chaos.history.Table;
import carillon.chaos.load.Load;
import carillon.chaos.load.NodeMonitor;
import carillon.chaos.load.RandomStreams;
import carillon.chaos.load.Receiver;
import carillon.chaos.load.Tenant;
import carillon.chaos.rules.Deadlocks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;

/** Executes a scenario phase by phase, and leaves its history in a directory. */
public final class Run {

  private final Scenario scenario;
  private final Postgres postgres;
  private final Path directory;
  private final Progress progress;
  private final RandomStreams streams;

  private Run(Scenario scenario, Postgres postgres, Path directory, Progress progress) {
    this.scenario = scenario;
    this.postgres = postgres;
    this.directory = directory;
    this.progress = progress;
    this.streams = new RandomStreams(scenario.seed());
  }

  /** The part of a run between warm-up and the end of the load. */
  public interface Body {
    void run(Cluster cluster, Load load) throws IOException, SQLException, InterruptedException;
  }

  /**
   * Executes the phases of a scenario. Returns when the history is complete and all processes have
   * exited.
   */
  public static History of(Scenario scenario, Postgres postgres, Path directory, Progress progress)
      throws IOException, SQLException, InterruptedException {
    Run run = new Run(scenario, postgres, directory, progress);
    return run.run(run::phases);
  }

  /** Executes a scenario with another body instead of its phases. */
  public static History of(
      Scenario scenario, Postgres postgres, Path directory, Progress progress, Body body)
      throws IOException, SQLException, InterruptedException {
    return new Run(scenario, postgres, directory, progress).run(body);
  }

  private History run(Body body) throws IOException, SQLException, InterruptedException {
    Files.createDirectories(directory);
    Path events = directory.resolve(History.EVENTS);
    Path hosts = directory.toAbsolutePath().resolve("hosts");
    Cluster.Settings settings = scenario.cluster().withHostsFile(hosts);
    try (Recorder recorder = new Recorder(events, InstantSource.system());
        Receiver receiver = Receiver.start(streams, recorder);
        RebindingHost rebindingHost = RebindingHost.start(hosts, recorder)) {
      phase(recorder, "boot");
      try (Cluster cluster =
              Cluster.start(postgres, scenario.name(), settings, directory, recorder);
          Load load = Load.start(cluster, receiver, rebindingHost, streams, scenario.load());
          NodeMonitor monitor = NodeMonitor.watch(cluster, load, receiver, progress)) {
        recorder.event("options", options(load));
        phase(recorder, "warm");
        Thread.sleep(scenario.warm());
        monitor.recordResources("warm");
        body.run(cluster, load);
        end(recorder, cluster, load, monitor);
      }
    }
    return History.read(directory);
  }

  /**
   * All settings of the run, so that the history is complete without the code that derives them
   * from the seed.
   */
  private Fields options(Load load) {
    List<Fields> markers = new ArrayList<>();
    List<Fields> secrets = new ArrayList<>();
    for (Tenant tenant : load.tenants()) {
      markers.add(Fields.of("tenant", tenant.name()).and("marker", tenant.marker()));
      secrets.add(Fields.of("secret", tenant.key()));
      secrets.add(Fields.of("secret", tenant.secret()));
    }
    List<String> plan = new ArrayList<>();
    for (PlannedFault planned : scenario.faults()) {
      plan.add(
          "%s at %d ms for %d ms on %d"
              .formatted(
                  planned.fault().label(),
                  planned.at().toMillis(),
                  planned.length().toMillis(),
                  planned.node()));
    }
    return Fields.of("seed", scenario.seed())
        .and("leaseMs", scenario.cluster().lease().toMillis())
        .and("timeoutMs", Load.ATTEMPT_TIMEOUT.toMillis())
        .and("retryMs", Load.RETRY_DELAY.toMillis())
        .and("drainSeconds", scenario.drain().toSeconds())
        .and("nodes", scenario.cluster().nodes())
        .and("serverOptions", scenario.cluster().options())
        .and("rate", scenario.load().rate())
        .and("clients", scenario.load().clients())
        .and("schedules", scenario.load().schedules())
        .and("weights", String.valueOf(scenario.load().weights()))
        .and("warmSeconds", scenario.warm().toSeconds())
        .and("safetySeconds", scenario.safety().toSeconds())
        .and("livenessSeconds", scenario.liveness().toSeconds())
        .and("plan", plan)
        .and("markers", markers)
        .and("secrets", secrets);
  }

  private void phase(Recorder recorder, String name) {
    recorder.event("phase", Fields.of("name", name));
    progress.step(name);
  }

  private void phases(Cluster cluster, Load load)
      throws IOException, SQLException, InterruptedException {
    phase(cluster.recorder(), "safety");
    new Nemesis(cluster, load).run(scenario.faults(), scenario.safety());
    cluster.heal();
    recordMisplaced(cluster); // before the reaper and retries have tidied up
    if (scenario.liveness().isPositive()) {
      livenessPhase(cluster);
    }
  }

  /** Isolates one node permanently; the others must continue. */
  private void livenessPhase(Cluster cluster) throws InterruptedException, IOException {
    SplittableRandom random = streams.of("liveness");
    Node lost = cluster.nodes().get(random.nextInt(cluster.nodes().size()));
    for (Node node : cluster.nodes()) {
      if (node != lost) {
        cluster.awaitReady(node);
      }
    }
    Fields fault =
        Fields.of("fault", "isolated-node").and("id", "liveness").and("node", lost.label());
    cluster.recorder().event("fault-start", fault);
    cluster.relay(lost).block();
    Thread.sleep(scenario.cluster().lease().multipliedBy(2)); // until others have taken over
    phase(cluster.recorder(), "liveness");
    Thread.sleep(scenario.liveness());
    cluster.relay(lost).pass();
    cluster.recorder().event("fault-end", fault);
  }

  private void end(Recorder recorder, Cluster cluster, Load load, NodeMonitor monitor)
      throws IOException, SQLException, InterruptedException {
    phase(recorder, "heal");
    cluster.heal();
    cluster.awaitReady();
    recordMisplaced(cluster);
    load.stopSubmitting();
    phase(recorder, "drain");
    Optional<String> left = drain(cluster);
    if (left.isPresent()) {
      recorder.event("not-drained", Fields.of("tasks", left.get()));
    }
    phase(recorder, "check");
    monitor.recordResources("check");
    monitor.recordMetrics();
    load.close();
    cluster.stop();
    recordDeadlocks(recorder);
    try (Connection connection = cluster.connect()) {
      Table.dump(connection, directory.resolve(History.DATABASE));
    }
  }

  private static final String MISPLACED =
      """
      /* Run.recordMisplaced */
      SELECT tenant, id, state, queue_rows, claims
      FROM carillon.misplaced_task
      """;

  /** Reads the queue while there is load: at the end it is nearly empty. */
  private static void recordMisplaced(Cluster cluster) throws SQLException {
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(MISPLACED)) {
      cluster.recorder().event("misplaced-read", Fields.of("from", "misplaced_task"));
      while (rows.next()) {
        cluster
            .recorder()
            .event(
                "misplaced",
                Fields.of("tenant", rows.getInt("tenant"))
                    .and("task", rows.getString("id"))
                    .and("state", rows.getString("state"))
                    .and("queue_rows", rows.getLong("queue_rows"))
                    .and("claims", rows.getLong("claims")));
      }
    }
  }

  private void recordDeadlocks(Recorder recorder) throws IOException {
    List<DeadlockLog.Deadlock> found = DeadlockLog.read(postgres.log(), scenario.name());
    for (DeadlockLog.Deadlock each : found) {
      recorder.event(
          "deadlock",
          Fields.of("logged", each.at())
              .and("statements", String.join(Deadlocks.SEPARATOR, each.statements())));
    }
    recorder.event("database-log", Fields.of("deadlocks", found.size()));
  }

  /* Tasks that schedules have planned for later may be unfinished. */
  private static final String LEFT =
      """
      /* Run.drain */
      SELECT string_agg(t.state || ' ' || t.id, ', ')
      FROM (
          SELECT tenant, id, partition
          FROM carillon.task
          WHERE state = 'PENDING' -- or running
            AND (schedule IS NULL OR due_at < clock_timestamp() - interval '5 s')
          LIMIT 20
      ) AS unfinished
      JOIN carillon.every_task t USING (tenant, id, partition)
      """;

  /** Waits until all tasks have ended; returns some that did not end in time. */
  private Optional<String> drain(Cluster cluster) throws SQLException, InterruptedException {
    long end = System.nanoTime() + scenario.drain().toNanos();
    try (Connection connection = cluster.connect();
        Statement statement = connection.createStatement()) {
      while (true) {
        String left;
        try (ResultSet rows = statement.executeQuery(LEFT)) {
          rows.next();
          left = rows.getString(1);
        }
        if (left == null || System.nanoTime() - end > 0) {
          return Optional.ofNullable(left);
        }
        Thread.sleep(Duration.ofMillis(200));
      }
    }
  }
}
