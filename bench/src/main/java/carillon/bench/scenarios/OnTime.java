package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Scheduler;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/** Measures the start delay of tasks created in advance, and the end of the last one. */
public enum OnTime implements Scenario<Scheduler> {
  /** Due at random times. */
  LATENESS {
    @Override
    Figures measure(Scheduler scheduler, Stage stage)
        throws IOException, SQLException, InterruptedException {
      // A drain warms up the code paths of large batches, but these tasks come one by one.
      Figures _ = spread(scheduler, stage, stage.sizes().window().dividedBy(4));
      Figures figures = spread(scheduler, stage, stage.sizes().window());
      return figures.with(scheduler.lateness().starts());
    }

    private Figures spread(Scheduler scheduler, Stage stage, Duration window)
        throws IOException, SQLException, InterruptedException {
      int tasks = (int) (window.toMillis() * PER_SECOND / 1000);
      return schedule(scheduler, stage, tasks, window);
    }
  },

  /** All due at one instant. */
  BURST {
    @Override
    Figures measure(Scheduler scheduler, Stage stage)
        throws IOException, SQLException, InterruptedException {
      int tasks = stage.sizes().burst();
      Figures figures = schedule(scheduler, stage, tasks, Duration.ZERO);
      Scheduler.Lateness late = scheduler.lateness();
      figures.with(late.starts()).with(Metric.FIRST, late.first());
      return figures.note() != null // timed out, so the last task did not end
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
    // The warm-up's writes must not delay the tasks that are created next.
    scheduler.store().settle();
    scheduler.store().checkpoint();
    return measure(scheduler, stage);
  }

  private static Figures schedule(Scheduler scheduler, Stage stage, int tasks, Duration window)
      throws IOException, SQLException, InterruptedException {
    stage.progress().step("loading");
    long before = scheduler.finished();
    Instant from = Instant.now().plus(scheduler.lead(tasks));
    scheduler.schedule(tasks, from, window);
    if (Instant.now().isAfter(from)) {
      throw new IOException("the first task was due before all tasks had been created");
    }
    stage.progress().step("waiting");
    Meter meter = Meter.start(scheduler);
    Stage.Finished finished = stage.await(scheduler, before, tasks);
    return finished.noteOn(meter.stop(finished.tasks()));
  }
}
