package carillon.bench;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/** Due tasks that wait, let go at once: how fast does everything get done? And what disturbs it? */
enum Drain implements Scenario<Contender> {
  ALONE,

  /** Beside many tasks that are due in the next weeks. */
  GROWTH {
    @Override
    void prepare(Contender contender, Stage stage) throws IOException, SQLException {
      stage.progress().step("loading the future");
      contender.loadFuture(stage.sizes().future());
    }
  },

  /** While somebody holds a snapshot, so that nothing dead can be cleared away. */
  SNAPSHOT {
    @Override
    Figures measure(Contender contender, Stage stage)
        throws IOException, SQLException, InterruptedException {
      try (Connection holder = contender.database().connect();
          Statement statement = holder.createStatement()) {
        holder.setAutoCommit(false);
        holder.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        statement.execute("SELECT 1");
        return super.measure(contender, stage);
      }
    }
  };

  void prepare(Contender contender, Stage stage) throws IOException, SQLException {}

  @Override
  public Figures run(Contender contender, Stage stage)
      throws IOException, SQLException, InterruptedException {
    stage.warmUp(contender);
    prepare(contender, stage);
    stage.progress().step("loading");
    contender.load(stage.sizes().drain());
    contender.database().settle();
    stage.progress().step("draining");
    return measure(contender, stage);
  }

  Figures measure(Contender contender, Stage stage)
      throws IOException, SQLException, InterruptedException {
    int tasks = stage.sizes().drain();
    long before = contender.finished();
    Meter meter = Meter.start(contender);
    contender.release();
    stage.await(contender, before, tasks);
    return meter.stop(tasks).with(Metric.RATE, tasks / contender.seconds(tasks));
  }
}
