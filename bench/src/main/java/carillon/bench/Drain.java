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
 * compared with the same system's drain without that, round by round in turns, because machines get
 * faster and slower, and programs too.
 */
enum Drain implements Scenario<Worker> {
  ALONE {
    @Override
    public Figures run(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      stage.warmUp(worker);
      return middleRound(() -> round(worker, stage), stage);
    }
  },

  /** While somebody holds a snapshot, so that nothing dead can be cleared away. */
  SNAPSHOT {
    @Override
    public Figures run(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      stage.warmUp(worker);
      return inTurns(() -> ALONE.round(worker, stage), () -> round(worker, stage), stage);
    }

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

  /** One drain, from loading on. */
  interface Round {
    Figures run() throws IOException, SQLException, InterruptedException;
  }

  /** One after the other; the middle one of them. */
  static Figures middleRound(Round round, Stage stage)
      throws IOException, SQLException, InterruptedException {
    List<Figures> rounds = new ArrayList<>();
    long began = System.nanoTime();
    do {
      rounds.add(round.run());
    } while (isToGoOn(stage, rounds.size(), began, AGAIN));
    return middle(rounds);
  }

  /** Without, with, without, with and so on; says both rates and what of the first is left. */
  static Figures inTurns(Round without, Round with, Stage stage)
      throws IOException, SQLException, InterruptedException {
    List<Figures> bases = new ArrayList<>();
    List<Figures> rounds = new ArrayList<>();
    long began = System.nanoTime();
    do {
      bases.add(without.run());
      rounds.add(with.run());
    } while (isToGoOn(stage, rounds.size(), began, AGAIN.multipliedBy(2)));
    Figures base = middle(bases);
    Figures figures = middle(rounds);
    return figures
        .with(Metric.BASE, rate(base))
        .with(Metric.RATIO, rate(figures) / rate(base))
        .with(Metric.OTHER, Math.max(other(base), other(figures)));
  }

  private static boolean isToGoOn(Stage stage, int rounds, long began, Duration most) {
    return rounds < stage.sizes().rounds() && System.nanoTime() - began < most.toNanos();
  }

  private static Figures middle(List<Figures> rounds) {
    rounds.sort(comparingDouble(Drain::rate));
    return rounds.get((rounds.size() - 1) / 2);
  }

  private static double rate(Figures figures) {
    return requireNonNull(figures.get(Metric.RATE));
  }

  private static double other(Figures figures) {
    return requireNonNull(figures.get(Metric.OTHER));
  }

  Figures round(Worker worker, Stage stage) throws IOException, SQLException, InterruptedException {
    stage.progress().step("loading");
    worker.load(stage.sizes().drain());
    worker.store().settle();
    stage.progress().step("draining");
    return measure(worker, stage);
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
