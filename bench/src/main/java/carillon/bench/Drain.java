package carillon.bench;

import java.io.IOException;
import java.sql.SQLException;

/** Due tasks that wait, let go at once: how fast does everything get done? And what disturbs it? */
enum Drain implements Scenario<Worker> {
  ALONE,

  /** Beside many tasks that are due in the next weeks. */
  GROWTH {
    @Override
    void prepare(Worker worker, Stage stage) throws IOException, SQLException {
      stage.progress().step("loading the future");
      worker.loadFuture(stage.sizes().future());
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

  void prepare(Worker worker, Stage stage) throws IOException, SQLException {}

  @Override
  public Figures run(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(worker);
    prepare(worker, stage);
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
