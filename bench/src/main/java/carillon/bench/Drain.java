package carillon.bench;

import static java.util.Comparator.comparingDouble;
import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Due tasks that wait, let go at once: how fast does everything get done? And what disturbs it? The
 * round in the middle counts: one alone differs by a tenth from the next. What is disturbed is
 * compared with the same system's drain right before, because machines get faster and slower.
 */
enum Drain implements Scenario<Worker> {
  ALONE,

  /** Beside many tasks that are due in the next weeks. */
  GROWTH {
    @Override
    void prepare(Worker worker, Stage stage) throws IOException, SQLException {
      stage.progress().step("loading the future");
      worker.loadFuture(stage.sizes().future());
      // Long ago, as it were: who drains must not pay for writing out what was loaded.
      worker.store().checkpoint();
    }
  },

  /** While somebody holds a snapshot, so that nothing dead can be cleared away. */
  SNAPSHOT {
    @Override
    Figures measure(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      try (Store.Snapshot _ = worker.store().holdSnapshot()) {
        return super.measure(worker, stage);
      }
    }
  };

  /** Who has taken so long is slow enough to be measured by what was done. */
  private static final Duration AGAIN = Duration.ofSeconds(30);

  void prepare(Worker worker, Stage stage) throws IOException, SQLException {}

  @Override
  public Figures run(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(worker);
    if (this == ALONE) {
      return middle(worker, stage);
    }
    Figures alone = ALONE.middle(worker, stage);
    prepare(worker, stage);
    Figures disturbed = middle(worker, stage);
    return disturbed.with(Metric.RATIO, rate(disturbed) / rate(alone));
  }

  private Figures middle(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    List<Figures> rounds = new ArrayList<>();
    long began = System.nanoTime();
    do {
      stage.progress().step("loading");
      worker.load(stage.sizes().drain());
      worker.store().settle();
      stage.progress().step("draining");
      rounds.add(measure(worker, stage));
    } while (rounds.size() < stage.sizes().rounds() && System.nanoTime() - began < AGAIN.toNanos());
    rounds.sort(comparingDouble(Drain::rate));
    return rounds.get((rounds.size() - 1) / 2);
  }

  private static double rate(Figures figures) {
    return requireNonNull(figures.get(Metric.RATE));
  }

  Figures measure(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    long before = worker.finished();
    Meter meter = Meter.start(worker);
    worker.release();
    Stage.Reached reached = stage.await(worker, before, stage.sizes().drain());
    Figures figures = meter.stop(reached.tasks());
    double rate = reached.tasks() / worker.seconds(reached.tasks());
    return reached.noteOn(figures.with(Metric.RATE, rate));
  }
}
