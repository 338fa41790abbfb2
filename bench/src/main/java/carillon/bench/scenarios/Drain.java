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
 * Releases a backlog of due tasks at once and measures how fast it is completed. A disturbed drain
 * is compared with an undisturbed one of the same system in alternating rounds, because machines
 * and programs get faster and slower over time.
 */
public enum Drain implements Rounds<Worker> {
  ALONE,

  /** With a snapshot held by another session, so that dead rows cannot be removed. */
  SNAPSHOT {
    @Override
    public Figures run(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      warmUp(worker, stage);
      return alternate(() -> ALONE.round(worker, stage), () -> round(worker, stage), stage);
    }

    @Override
    Figures measure(Worker worker, Stage stage)
        throws IOException, SQLException, InterruptedException {
      try (Store.Snapshot _ = worker.store().holdSnapshot()) {
        return super.measure(worker, stage);
      }
    }
  };

  /** One drain, including loading. */
  interface Round {
    Figures run() throws IOException, SQLException, InterruptedException;
  }

  /** Two consecutive rounds, measured on the same machine in the same state. */
  private record Pair(Figures undisturbed, Figures disturbed) {

    double ratio() {
      return disturbed.required(Metric.RATE) / undisturbed.required(Metric.RATE);
    }

    Figures figures() {
      return disturbed
          .with(Metric.BASE, undisturbed.required(Metric.RATE))
          .with(Metric.RATIO, ratio())
          .with(Metric.OTHER, Figures.max(Metric.OTHER, undisturbed, disturbed));
    }
  }

  /**
   * Alternates rounds without and with the disturbance, and returns both rates and their ratio for
   * the median pair.
   */
  static Figures alternate(Round undisturbed, Round disturbed, Stage stage)
      throws IOException, SQLException, InterruptedException {
    List<Pair> pairs = new ArrayList<>();
    while (pairs.size() < stage.sizes().pairs()) {
      pairs.add(new Pair(undisturbed.run(), disturbed.run()));
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
    Stage.Finished finished = stage.await(worker, before, stage.sizes().drain());
    Figures figures = meter.stop(finished.tasks());
    double rate = finished.tasks() / worker.seconds(finished.tasks());
    return finished.noteOn(figures.with(Metric.RATE, rate));
  }
}
