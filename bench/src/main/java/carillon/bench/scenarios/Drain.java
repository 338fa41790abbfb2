package carillon.bench.scenarios;

import static java.util.Comparator.comparingDouble;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.systems.Store;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Due tasks that wait, let go at once: how fast does everything get done? And what disturbs it?
 * What is disturbed is compared with the same system's drain without that, round by round in turns,
 * because machines get faster and slower, and programs too.
 */
public enum Drain implements Rounds<Worker> {
  ALONE,

  /** While somebody holds a snapshot, so that nothing dead can be cleared away. */
  SNAPSHOT {
    @Override
    public Figures run(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      warmUp(worker, stage);
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

  /** One drain, from loading on. */
  interface Round {
    Figures run() throws IOException, SQLException, InterruptedException;
  }

  /** A round and the one right after it, which tell of one and the same machine. */
  private record Pair(Figures without, Figures with) {

    double ratio() {
      return with.required(Metric.RATE) / without.required(Metric.RATE);
    }

    Figures figures() {
      return with.with(Metric.BASE, without.required(Metric.RATE))
          .with(Metric.RATIO, ratio())
          .with(Metric.OTHER, Figures.most(Metric.OTHER, without, with));
    }
  }

  /**
   * Without, with, without, with and so on; says both rates and what of the first is left, of the
   * pair in the middle.
   */
  static Figures inTurns(Round without, Round with, Stage stage)
      throws IOException, SQLException, InterruptedException {
    List<Pair> pairs = new ArrayList<>();
    while (pairs.size() < stage.sizes().pairs()) {
      pairs.add(new Pair(without.run(), with.run()));
    }
    pairs.sort(comparingDouble(Pair::ratio));
    return pairs.get((pairs.size() - 1) / 2).figures();
  }

  @Override
  public void warmUp(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(worker);
  }

  @Override
  public Figures round(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
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
