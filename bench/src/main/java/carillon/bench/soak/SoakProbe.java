package carillon.bench.soak;

import carillon.bench.figures.Sample;
import carillon.bench.scenarios.Proc;
import carillon.bench.systems.CarillonServer;
import carillon.bench.systems.Database;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Reads one sample: rates since the last one, and the present sizes. */
final class SoakProbe {

  private static final List<String> TABLES = List.of("task", "queue", "claim");
  private static final List<String> SIZES = List.of("heap", "indexes", "other");
  private static final double MB = 1 << 20;

  /** A transaction may commit this long after the due time of the tasks that it created. */
  private static final Duration LONGEST_COMMIT = Duration.ofSeconds(30);

  /** The age of the oldest snapshot, in transactions. */
  private static final String OLDEST_SNAPSHOT =
      """
      SELECT coalesce(max(age(backend_xmin)), 0)
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND backend_type = 'client backend'
      """;

  private final CarillonServer carillon;
  private final Database database;
  private final SoakLoad load;
  private final long began = System.nanoTime();
  private Counts last;
  private Instant waitingFrom = Instant.EPOCH;

  private record Counts(
      long nanos, long created, long completed, double server, double postgres, double wal) {}

  SoakProbe(CarillonServer carillon, SoakLoad load) throws SQLException {
    this.carillon = carillon;
    this.database = carillon.store();
    this.load = load;
    this.last = count();
  }

  private Counts count() throws SQLException {
    return new Counts(
        System.nanoTime(),
        load.created(),
        carillon.finished(),
        Proc.cpuOfTree(carillon.pid()),
        Proc.cpuOfTree(database.pid()),
        database.walBytes());
  }

  /** Returns the columns of a sample with their values. */
  Sample read(boolean isSnapshotHeld) throws IOException, SQLException {
    Counts now = count();
    double seconds = (now.nanos - last.nanos) / 1e9;
    Sample sample = new Sample();
    sample.with("minute", (now.nanos - began) / 60e9);
    sample.with("snapshot", isSnapshotHeld ? 1.0 : 0.0);
    sample.with("snapshot_age", Double.parseDouble(database.one(OLDEST_SNAPSHOT)));
    sample.with("created", (double) now.created);
    sample.with("completed", (double) now.completed);
    sample.with("created_per_s", (now.created - last.created) / seconds);
    sample.with("completed_per_s", (now.completed - last.completed) / seconds);
    sample.with("failed_requests", (double) load.failed());
    addWaiting(sample);
    for (String table : TABLES) {
      addTable(sample, table);
    }
    sample.with("wal_mb_per_s", (now.wal - last.wal) / MB / seconds);
    sample.with("server_rss_mb", Proc.rssMb(Proc.tree(carillon.pid()), Proc.Memory.NOW));
    sample.with("server_cores", (now.server - last.server) / seconds);
    sample.with("postgres_cores", (now.postgres - last.postgres) / seconds);
    sample.with("load_average", Proc.load());
    last = now;
    return sample;
  }

  /** No task that waits can be older than the oldest of the last time, or than that time. */
  private void addWaiting(Sample sample) throws SQLException {
    Instant now = Instant.now();
    Sample waiting = database.waiting(waitingFrom);
    double seconds = waiting.get("seconds");
    sample.with("waiting", waiting.get("tasks"));
    sample.with("oldest_s", seconds);
    waitingFrom = now.minus(LONGEST_COMMIT).minusMillis((long) (seconds * 1000));
  }

  private void addTable(Sample sample, String table) throws SQLException {
    database
        .table(table)
        .forEach(
            (name, value) -> {
              boolean isSize = SIZES.contains(name);
              // Besides TOAST, the others are small: free space and visibility maps.
              String column = name.equals("other") ? "toast" : name;
              sample.with(
                  table + "_" + column + (isSize ? "_mb" : ""), isSize ? value / MB : value);
            });
  }
}
