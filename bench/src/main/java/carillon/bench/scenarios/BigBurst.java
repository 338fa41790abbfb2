package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Percentiles;
import carillon.bench.figures.Results;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Scheduler;
import carillon.bench.systems.Tasks;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A burst of one tenant that takes many seconds: measures its start delay, and the start delay of
 * another tenant's tasks during the burst.
 */
public final class BigBurst implements Scenario<CarillonServer> {

  public static final String NAME = "burst-500k";

  private static final int PER_SECOND = 200;
  private static final Duration WINDOW = Duration.ofSeconds(20);

  /** The other tenant, and the type of its tasks. */
  private static final String OTHER = "other";

  private final Results results;

  /**
   * @param results where the other tenant's figures go
   */
  public BigBurst(Results results) {
    this.results = results;
  }

  @Override
  public Figures run(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    Drain.ALONE.warmUp(carillon, stage);
    carillon.client().put("/v1/tenants/" + OTHER, Map.of());
    warmUpOthers(carillon, stage);
    // The limit of the burst depends on the drain rate, which drifts: measure it before and after.
    Figures before = Drain.ALONE.round(carillon, stage);
    Figures burst = burst(carillon, stage);
    Figures after = Drain.ALONE.round(carillon, stage);
    double rateBefore = before.required(Metric.RATE);
    double rateAfter = after.required(Metric.RATE);
    if (burst.note() == null) {
      burst.note(
          "drains before and after: %,.0f and %,.0f tasks/s".formatted(rateBefore, rateAfter));
    }
    return burst
        .with(Metric.BASE, (rateBefore + rateAfter) / 2)
        .with(Metric.OTHER, Figures.max(Metric.OTHER, before, burst, after));
  }

  private Figures burst(CarillonServer carillon, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("loading");
    int tasks = stage.sizes().bigBurst();
    long before = carillon.finished();
    Instant from = Instant.now().plus(carillon.lead(tasks));
    int others = scheduleOthers(carillon, OTHER, from, WINDOW);
    carillon.schedule(tasks, from, Duration.ZERO);
    // Most tasks are created long before they are due, and the drains settle as well.
    carillon.store().settle();
    if (Instant.now().isAfter(from)) {
      throw new IOException("the first task was due before all tasks had been created");
    }
    stage.progress().step("waiting");
    Meter meter = Meter.start(carillon);
    Stage.Finished finished = stage.await(carillon, before, (long) tasks + others);
    Figures figures = finished.noteOn(meter.stop(finished.tasks()));

    Scheduler.Lateness late = carillon.lateness();
    Percentiles starts = carillon.between("due_at", "started_at");
    results.add(NAME, "carillon", figures); // first row of the table
    results.add(
        NAME, "carillon-others", new Figures().with(carillon.latenessDuring(OTHER).times()));
    return figures
        .with(starts.times())
        .with(Metric.P999, starts.at(99.9))
        .with(Metric.FIRST, late.first())
        .with(Metric.LAST, late.last())
        .with(Metric.RATE, tasks * 1000 / late.last());
  }

  /**
   * A drain warms up the code paths of large batches, but these tasks come one by one. Without
   * this, compiling that code took a tenth of both cores during the burst.
   */
  private static void warmUpOthers(CarillonServer carillon, Stage stage)
      throws IOException, InterruptedException {
    stage.progress().step("warming up, one by one");
    long before = carillon.finished();
    Instant from = Instant.now().plus(carillon.lead(0));
    int others = scheduleOthers(carillon, "warm-up", from, WINDOW.dividedBy(4));
    stage.await(carillon, before, others);
  }

  /** Returns how many tasks it created. */
  private static int scheduleOthers(
      CarillonServer carillon, String type, Instant from, Duration window) throws IOException {
    int others = (int) (window.toSeconds() * PER_SECOND);
    List<Instant> spread = CarillonServer.spread(others, from, window);
    carillon.submit(
        OTHER,
        others,
        i -> Tasks.task(type, CarillonServer.due(spread.get(i)) + ",\"target\":{\"discard\":{}}"));
    return others;
  }
}
