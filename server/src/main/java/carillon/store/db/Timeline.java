package carillon.store.db;

import carillon.model.Signal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The timeline of the database. A promoted standby starts a new one, which after asynchronous
 * replication may lack the last commits: a process must then read again what it remembers.
 */
public final class Timeline {

  private static final Logger log = LoggerFactory.getLogger(Timeline.class);

  /** A standby, or a server that does not show its timeline. */
  static final int UNKNOWN = 0;

  private final Signal databaseReplaced;
  private volatile int number = UNKNOWN;
  private int ignored = UNKNOWN; // guarded by this; logged once

  /**
   * @param databaseReplaced raised before a connection to the new history is used
   */
  public Timeline(Signal databaseReplaced) {
    this.databaseReplaced = databaseReplaced;
  }

  private static final String READ =
      """
      /* Timeline.read */
      SELECT CASE WHEN pg_is_in_recovery() THEN '0'
                  ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
             END AS timeline
      """;

  /** Reads the timeline of a new connection before it is used. */
  void check(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(READ)) {
      row.next();
      observe(row.getString("timeline"));
    } catch (SQLException e) {
      if (StoreException.isLostConnection(e.getSQLState())) {
        throw e;
      }
      log.debug("cannot read timeline error={}", e.getMessage()); // as on some hosted services
    }
  }

  /** Reads the timeline again: behind a pooler, connections survive a failover. */
  public void check(Db db) {
    observe(db.autoCommit(tx -> tx.query(READ, row -> row.getString("timeline"))).getFirst());
  }

  synchronized void observe(String hex) {
    int seen = Integer.parseUnsignedInt(hex, 16);
    if (seen == UNKNOWN || seen == number) {
      return;
    }
    int before = number;
    if (seen < before) {
      if (seen != ignored) {
        ignored = seen;
        log.error(
            "ignored server on an old timeline timeline={} expected={}; is an old primary still"
                + " running? If the database was replaced by an older one, restart this node",
            seen,
            before);
      }
      return;
    }
    number = seen;
    if (before != UNKNOWN) {
      log.warn(
          "database timeline changed timeline={} before={}; a standby was promoted or a backup"
              + " restored. Unless the standby was synchronous, the last commits may be lost",
          seen,
          before);
      databaseReplaced.raise();
    }
  }

  /** The timeline; 0 while it is unknown. */
  public int number() {
    return number;
  }
}
