package carillon.bench;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A burst of one tenant, so large that it takes many seconds: how late does it get, and how late do
 * the tasks get that another tenant has meanwhile?
 */
final class BigBurst implements Scenario<CarillonServer> {

  static final String NAME = "burst-500k";

  private static final int PER_SECOND = 200;
  private static final Duration WINDOW = Duration.ofSeconds(20);

  private final Results results;

  /**
   * @param results where the other tenant's figures go
   */
  BigBurst(Results results) {
    this.results = results;
  }

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    Drain.ALONE.warmUp(carillon, stage);
    // Right before it, as what it may take depends on it, and machines get faster and slower.
    Figures drain = Drain.ALONE.round(carillon, stage);
    stage.progress().step("loading");
    int tasks = stage.sizes().bigBurst();
    int others = (int) (WINDOW.toSeconds() * PER_SECOND);
    carillon.client().put("/v1/tenants/other", Map.of());
    long before = carillon.finished();
    Instant from = Instant.now().plus(carillon.lead(tasks));
    List<Instant> spread = CarillonServer.spread(others, from, WINDOW);
    carillon.submit(
        "other",
        others,
        i ->
            Tasks.task(
                "other", CarillonServer.due(spread.get(i)) + ",\"target\":{\"discard\":{}}"));
    carillon.schedule(tasks, from, Duration.ZERO);
    // Most are handed in long before; and the drain beside which this is seen had that, too.
    carillon.store().settle();
    if (Instant.now().isAfter(from)) {
      throw new IOException("the first task was due before all had been handed in");
    }
    stage.progress().step("waiting");
    Meter meter = Meter.start(carillon);
    Stage.Reached reached = stage.await(carillon, before, (long) tasks + others);
    Figures figures = reached.noteOn(meter.stop(reached.tasks()));

    Scheduler.Lateness late = carillon.lateness();
    Percentiles starts = carillon.between("due_at", "started_at");
    results.add(NAME, "carillon", figures); // before the others, as in every table
    results.add(
        NAME,
        "carillon-others",
        new Figures().with(carillon.between("due_at", "started_at", "other").times()));
    return figures
        .with(starts.times())
        .with(Metric.P999, starts.at(99.9))
        .with(Metric.FIRST, late.first())
        .with(Metric.LAST, late.last())
        .with(Metric.RATE, tasks * 1000 / late.last())
        .with(Metric.BASE, requireNonNull(drain.get(Metric.RATE)));
  }
}
