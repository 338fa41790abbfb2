package carillon.store.db;

import carillon.model.Signal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which history of the database we are on. A standby that is promoted starts a new one, and with
 * asynchronous replication that may lack what was committed last: what a process remembers of the
 * database is then to be read again.
 */
public final class Timeline {

  private static final Logger log = LoggerFactory.getLogger(Timeline.class);

  /** Not known: a standby, or a server that does not say. */
  private static final int UNKNOWN = 0;

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

  /** Looks at a connection that is new, before anybody uses it. */
  void look(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(READ)) {
      row.next();
      saw(row.getString("timeline"));
    } catch (SQLException e) {
      if (StoreException.isLostConnection(e.getSQLState())) {
        throw e;
      }
      log.debug("the timeline is not shown: {}", e.getMessage()); // as some that are rented do
    }
  }

  /** Looks again: behind a pooler, the server changes under connections that stay. */
  public void lookOnce(Db db) {
    saw(db.autoCommit(tx -> tx.query(READ, row -> row.getString("timeline"))).getFirst());
  }

  synchronized void saw(String hex) {
    int seen = Integer.parseUnsignedInt(hex, 16);
    if (seen == UNKNOWN || seen == number) {
      return;
    }
    int before = number;
    if (seen < before) {
      if (seen != ignored) {
        ignored = seen;
        log.error(
            "a server is on timeline {} after {}: an old primary that still takes writes? If the"
                + " database was replaced by an older one, start this node again",
            seen,
            before);
      }
      return;
    }
    number = seen;
    if (before != UNKNOWN) {
      log.warn(
          "the database is on timeline {} after {}: a standby was promoted, or a backup restored;"
              + " unless it was a synchronous standby, what was committed last may be lost",
          seen,
          before);
      databaseReplaced.raise();
    }
  }

  /** 0 while it is not known. */
  public int number() {
    return number;
  }
}
