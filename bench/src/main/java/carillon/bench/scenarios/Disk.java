package carillon.bench.scenarios;

import carillon.bench.figures.Figures;
import carillon.bench.figures.Metric;
import carillon.bench.figures.Sample;
import carillon.bench.systems.Database;
import carillon.bench.systems.Worker;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/**
 * What a finished task occupies on disk, and what its life writes to the log: tasks are created in
 * bulk, drained and vacuumed. Without warm-up, because neither depends on the speed, and because
 * every row in the tables must be of a task that is counted.
 */
public final class Disk implements Scenario<Worker> {

  public static final String NAME = "disk";

  private record Table(String name, Metric metric) {}

  private static final List<Table> TABLES =
      List.of(
          new Table("task", Metric.DISK_TASK),
          new Table("queue", Metric.DISK_QUEUE),
          new Table("claim", Metric.DISK_CLAIM));

  private static List<Sample> sizes(Database database) throws SQLException {
    List<Sample> sizes = new ArrayList<>();
    for (Table table : TABLES) {
      sizes.add(database.table(table.name));
    }
    return sizes;
  }

  @Override
  public Figures run(Worker worker, Stage stage)
      throws IOException, SQLException, InterruptedException {
    if (!(worker.store() instanceof Database database)) {
      throw new IllegalArgumentException(worker.store() + " is not PostgreSQL");
    }
    int tasks = stage.sizes().drain();
    List<Sample> empty = sizes(database);
    stage.progress().step("loading");
    double beforeLoad = database.walBytes();
    worker.load(tasks);
    double load = (database.walBytes() - beforeLoad) / tasks;
    database.settle(); // now, so that autovacuum does not write to the log in some of the drains

    stage.progress().step("draining");
    long before = worker.finished();
    double beforeDrain = database.walBytes();
    worker.release();
    Stage.Finished finished = stage.await(worker, before, tasks);
    double drain = (database.walBytes() - beforeDrain) / tasks;

    stage.progress().step("vacuuming");
    for (Table table : TABLES) {
      database.vacuum(table.name);
    }
    List<Sample> full = sizes(database);
    Figures figures =
        new Figures()
            .with(Metric.WAL, load + drain)
            .with(Metric.WAL_LOAD, load)
            .with(Metric.WAL_DRAIN, drain);
    StringJoiner parts = new StringJoiner(", ", "heap + indexes + other: ", "");
    double sum = 0;
    for (int i = 0; i < TABLES.size(); i++) {
      double heap = (full.get(i).get("heap") - empty.get(i).get("heap")) / tasks;
      double indexes = (full.get(i).get("indexes") - empty.get(i).get("indexes")) / tasks;
      double other = (full.get(i).get("other") - empty.get(i).get("other")) / tasks;
      Table table = TABLES.get(i);
      figures.with(table.metric, heap + indexes + other);
      parts.add("%s %,.0f + %,.0f + %,.0f".formatted(table.name, heap, indexes, other));
      sum += heap + indexes + other;
    }
    figures.with(Metric.DISK, sum).note(parts.toString());
    return finished.noteOn(figures);
  }
}
