package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Scheduler;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/** Tasks handed in ahead: how late do they start, and when has the last one ended? */
public enum OnTime implements Scenario<Scheduler> {
  /** Spread at random. */
  LATENESS {
    @Override
    Figures measure(Scheduler scheduler, Stage stage)
        throws IOException, SQLException, InterruptedException {
      // A drain warms up the ways of large batches: these come one by one.
      Figures _ = spread(scheduler, stage, stage.sizes().window().dividedBy(4));
      Figures figures = spread(scheduler, stage, stage.sizes().window());
      return figures.with(scheduler.lateness().starts());
    }

    private Figures spread(Scheduler scheduler, Stage stage, Duration window)
        throws IOException, SQLException, InterruptedException {
      int tasks = (int) (window.toMillis() * PER_SECOND / 1000);
      return handIn(scheduler, stage, tasks, window);
    }
  },

  /** All at one instant. */
  BURST {
    @Override
    Figures measure(Scheduler scheduler, Stage stage)
        throws IOException, SQLException, InterruptedException {
      int tasks = stage.sizes().burst();
      Figures figures = handIn(scheduler, stage, tasks, Duration.ZERO);
      Scheduler.Lateness late = scheduler.lateness();
      figures.with(late.starts()).with(Metric.FIRST, late.first());
      return figures.note() != null // then there is no last one
          ? figures
          : figures.with(Metric.LAST, late.last()).with(Metric.RATE, tasks * 1000 / late.last());
    }
  };

  private static final int PER_SECOND = 100;

  abstract Figures measure(Scheduler scheduler, Stage stage)
      throws IOException, SQLException, InterruptedException;

  @Override
  public Figures run(Scheduler scheduler, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(scheduler);
    // Long ago, as it were: what is handed in next must not wait for the disk because of this.
    scheduler.store().settle();
    scheduler.store().checkpoint();
    return measure(scheduler, stage);
  }

  private static Figures handIn(Scheduler scheduler, Stage stage, int tasks, Duration window)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("loading");
    long before = scheduler.finished();
    Instant from = Instant.now().plus(scheduler.lead(tasks));
    scheduler.schedule(tasks, from, window);
    if (Instant.now().isAfter(from)) {
      throw new IOException("the first task was due before all had been handed in");
    }
    stage.progress().step("waiting");
    Meter meter = Meter.start(scheduler);
    Stage.Reached reached = stage.await(scheduler, before, tasks);
    return reached.noteOn(meter.stop(reached.tasks()));
  }
}
