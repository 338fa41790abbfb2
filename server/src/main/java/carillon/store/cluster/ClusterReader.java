package carillon.store.cluster;

import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads the state of the cluster and its database for display. The queries do not share a snapshot,
 * so a node that has just joined may lead and not be listed yet.
 */
public final class ClusterReader {

  private final Db db;

  public ClusterReader(Db db) {
    this.db = db;
  }

  /**
   * All of it.
   *
   * @param at when this was so, by the database's clock
   */
  public record Cluster(
      Instant at,
      Optional<Leadership.Led> leader,
      List<Nodes.Shown> nodes,
      ShardRows.Spread shards,
      Database database) {
    public Cluster {
      nodes = List.copyOf(nodes);
    }
  }

  /**
   * The primary.
   *
   * @param timeline rises with every promotion of a standby
   * @param oldestTransaction how long it has been open; null without the right to see all sessions
   */
  public record Database(
      String version,
      @Nullable Integer timeline,
      List<Standby> standbys,
      @Nullable Duration oldestTransaction) {
    public Database {
      standbys = List.copyOf(standbys);
    }
  }

  /**
   * A standby. Without the right to see other sessions, only its name is known.
   *
   * @param sync PostgreSQL's sync_state: sync, async, potential or quorum
   * @param lag until the standby has applied the primary's last commit
   */
  public record Standby(
      @Nullable String name,
      @Nullable String state,
      @Nullable String sync,
      @Nullable Duration lag) {}

  /** Five queries on small tables and on PostgreSQL's statistics views. */
  public Cluster read() {
    return db.inTransaction(
        tx -> {
          List<Standby> standbys = tx.query(STANDBYS, ClusterReader::standby);
          Seen seen = tx.query(DATABASE, row -> seen(row, standbys)).getFirst();
          return new Cluster(
              seen.at(),
              Leadership.current(tx),
              Nodes.list(tx),
              ShardRows.spread(tx),
              seen.database());
        });
  }

  private static final String DATABASE =
      """
      /* ClusterReader.database */
      SELECT statement_timestamp() AS at,
             current_setting('server_version') AS version,
             CASE
                 WHEN NOT pg_is_in_recovery()
                 THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
             END AS timeline,
             CASE
                 WHEN pg_has_role('pg_read_all_stats', 'USAGE') -- or all sessions but our own would be missing
                 THEN (
                     SELECT coalesce(max(extract(epoch FROM statement_timestamp() - xact_start)), 0) * 1000000
                     FROM pg_stat_activity
                     WHERE backend_type = 'client backend'
                       AND pid <> pg_backend_pid()
                 )
             END AS oldest_us
      """;

  private record Seen(Instant at, Database database) {}

  private static Seen seen(ResultSet row, List<Standby> standbys) throws SQLException {
    return new Seen(
        Sql.requiredInstant(row, "at"),
        new Database(
            row.getString("version"),
            Sql.integer(row, "timeline"),
            standbys,
            micros(row, "oldest_us")));
  }

  private static final String STANDBYS =
      """
      /* ClusterReader.standbys */
      SELECT application_name, state, sync_state,
             extract(epoch FROM CASE
                 WHEN state = 'streaming'
                 THEN coalesce(replay_lag, interval '0') -- NULL once it has applied all and nothing is written
                 ELSE replay_lag
             END) * 1000000 AS lag_us
      FROM pg_stat_replication
      ORDER BY application_name, pid
      """;

  private static Standby standby(ResultSet row) throws SQLException {
    return new Standby(
        row.getString("application_name"),
        row.getString("state"),
        row.getString("sync_state"),
        micros(row, "lag_us"));
  }

  private static @Nullable Duration micros(ResultSet row, String column) throws SQLException {
    long micros = row.getLong(column);
    return row.wasNull() ? null : Duration.of(micros, ChronoUnit.MICROS);
  }
}
