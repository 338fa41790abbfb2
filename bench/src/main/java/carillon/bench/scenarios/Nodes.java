package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.CarillonCluster;
import carillon.bench.systems.LockWaits;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * A drain by several nodes of one cluster: measures what a task costs when more nodes share the
 * work. All tasks are due at one instant, so that all nodes start at the same time.
 */
public final class Nodes implements Scenario<CarillonCluster> {

  public static final String NAME = "nodes";

  public static final List<Integer> COUNTS = List.of(1, 2, 3, 4, 8);

  private static final int SLICES = 64;
  private static final int WARM_UPS = 2; // each node runs only its share
  private static final Duration IDLE = Duration.ofSeconds(5);
  private static final Duration METER_LEAD = Duration.ofMillis(200);

  public static String system(int nodes) {
    return "carillon-" + nodes;
  }

  @Override
  public Figures run(CarillonCluster cluster, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("warming up");
    for (int i = 0; i < WARM_UPS; i++) {
      drain(cluster, stage, stage.sizes().warmUp());
    }
    stage.progress().step("idling");
    double idle = idleStatements(cluster);
    List<Figures> rounds = new ArrayList<>();
    while (rounds.size() < stage.sizes().rounds()) {
      stage.progress().step("loading and draining");
      rounds.add(drain(cluster, stage, stage.sizes().warmUp()));
    }
    return Rounds.median(rounds).with(Metric.IDLE_STATEMENTS, idle);
  }

  /** Statements per second and node when there is nothing to do. */
  private static double idleStatements(CarillonCluster cluster)
      throws SQLException, InterruptedException {
    double before = cluster.store().statements();
    Thread.sleep(IDLE);
    return (cluster.store().statements() - before) / IDLE.toSeconds() / cluster.size();
  }

  private static Figures drain(CarillonCluster cluster, Stage stage, int tasks)
      throws IOException, SQLException, InterruptedException {
    Instant due = Instant.now().plus(cluster.lead(tasks));
    cluster.load(tasks, SLICES, due);
    cluster.store().settle();
    Duration left = Duration.between(Instant.now(), due).minus(METER_LEAD);
    if (left.isNegative()) {
      throw new IllegalStateException("loading took longer than " + cluster.lead(tasks));
    }
    Thread.sleep(left);
    Meter meter = Meter.start(cluster);
    try (LockWaits waits = LockWaits.watch(cluster.store(), cluster.log())) {
      cluster.awaitEnd(stage.sizes().timeout());
      Figures figures = meter.stop(tasks);
      LockWaits.Observed observed = waits.stop();
      return figures
          .with(Metric.RATE, tasks / cluster.seconds(tasks))
          .with(Metric.MIN_SHARE, cluster.minShare(tasks))
          .with(Metric.TASK_STATEMENTS, cluster.claimsAndEnds() / tasks)
          .with(Metric.LOCK_WAIT, observed.waited().toNanos() / 1e3 / tasks)
          .with(Metric.LOCK_WAITS, observed.longWaits())
          .note("lock waits: " + observed.events());
    }
  }
}
