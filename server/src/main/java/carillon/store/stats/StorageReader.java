package carillon.store.stats;

import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The size of the tables and their dead rows, from PostgreSQL's statistics: reads no rows. */
public final class StorageReader {

  private final Db db;

  public StorageReader(Db db) {
    this.db = db;
  }

  /**
   * The storage of all tables.
   *
   * @param oldestSnapshot how long the oldest transaction of this database has kept dead rows from
   *     being removed; null if the role cannot see all sessions. Snapshots of standbys and
   *     replication slots have no time and are not included.
   * @param partitions by day: tasks, queue, attempts and transitions together
   * @param tables all other tables, the largest first
   */
  public record Storage(
      Instant at,
      @Nullable Duration oldestSnapshot,
      List<PartitionSize> partitions,
      List<TableSize> tables) {
    public Storage {
      partitions = List.copyOf(partitions);
      tables = List.copyOf(tables);
    }
  }

  /**
   * The size of tables.
   *
   * @param bytes including indexes and TOAST
   * @param rows an estimate of PostgreSQL, like {@code deadRows}
   */
  public record Size(long bytes, long rows, long deadRows) {}

  /** The tables of a day. */
  public record PartitionSize(LocalDate day, Size size, @Nullable Instant lastVacuumAt) {}

  /** A table that is not partitioned by day. */
  public record TableSize(String name, Size size) {}

  /** Runs three statements that read statistics and file sizes. */
  public Storage read() {
    return db.inTransaction(
        tx -> {
          List<PartitionSize> partitions = tx.query(PARTITIONS, StorageReader::partition);
          List<TableSize> tables = tx.query(TABLES, StorageReader::table);
          return tx.query(OLDEST, row -> storage(row, partitions, tables)).getFirst();
        });
  }

  private static final String OLDEST =
      """
      /* StorageReader.oldest */
      SELECT statement_timestamp() AS at,
             CASE
                 WHEN pg_has_role('pg_read_all_stats', 'USAGE') -- otherwise only our own sessions are visible
                 THEN (
                     SELECT coalesce(max(extract(epoch FROM statement_timestamp() - since)), 0) * 1000000
                     FROM (
                         SELECT xact_start AS since
                         FROM pg_stat_activity
                         WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
                           AND backend_type = 'client backend'
                           AND datname = current_database() -- sessions of other databases do not keep our rows
                           AND pid <> pg_backend_pid()
                         UNION ALL
                         SELECT prepared
                         FROM pg_prepared_xacts
                         WHERE database = current_database()
                     ) AS held
                 )
             END AS oldest_us
      """;

  private static Storage storage(
      ResultSet row, List<PartitionSize> partitions, List<TableSize> tables) throws SQLException {
    long micros = row.getLong("oldest_us");
    Duration oldest = row.wasNull() ? null : Duration.of(micros, ChronoUnit.MICROS);
    return new Storage(Sql.requiredInstant(row, "at"), oldest, partitions, tables);
  }

  private static final String PARTITIONS =
      """
      /* StorageReader.partitions */
      SELECT partition.day,
             coalesce(sum(pg_total_relation_size(part.oid)), 0) AS bytes,
             coalesce(sum(pg_stat_get_live_tuples(part.oid)), 0) AS rows,
             coalesce(sum(pg_stat_get_dead_tuples(part.oid)), 0) AS dead_rows,
             max(greatest(pg_stat_get_last_vacuum_time(part.oid), pg_stat_get_last_autovacuum_time(part.oid))) AS vacuumed_at
      FROM carillon.partition
      CROSS JOIN unnest(ARRAY['task', 'queue', 'attempt', 'transition']) AS parent
      CROSS JOIN LATERAL (
          -- NULL instead of an error for a partition that was just dropped
          SELECT to_regclass('carillon.' || parent || '_' || to_char(partition.day, 'YYYYMMDD'))::oid AS oid
      ) AS part
      GROUP BY partition.day
      ORDER BY partition.day
      """;

  private static PartitionSize partition(ResultSet row) throws SQLException {
    return new PartitionSize(
        row.getObject("day", LocalDate.class), size(row), Sql.instant(row, "vacuumed_at"));
  }

  private static final String TABLES =
      """
      /* StorageReader.tables */
      SELECT relname AS name,
             coalesce(pg_total_relation_size(oid), 0) AS bytes,
             coalesce(pg_stat_get_live_tuples(oid), 0) AS rows,
             coalesce(pg_stat_get_dead_tuples(oid), 0) AS dead_rows
      FROM pg_class
      WHERE relnamespace = 'carillon'::regnamespace
        AND relkind = 'r'
        AND NOT relispartition
      ORDER BY bytes DESC, name
      """;

  private static TableSize table(ResultSet row) throws SQLException {
    return new TableSize(row.getString("name"), size(row));
  }

  private static Size size(ResultSet row) throws SQLException {
    return new Size(row.getLong("bytes"), row.getLong("rows"), row.getLong("dead_rows"));
  }
}
