package carillon.store.cluster;

import carillon.model.cluster.Hint;
import carillon.store.db.ConnectionSource;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * Sends and receives hints between nodes with NOTIFY and LISTEN, outside of all other transactions.
 * A node that does not listen at the moment misses them.
 */
public final class Hints implements AutoCloseable {

  /** A query this often shows whether the listening connection still works. */
  private static final Duration PROBE_INTERVAL = Duration.ofSeconds(10);

  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(15);

  private final Db db;
  private final Db.Address address;
  private volatile @Nullable Connection listening;
  private volatile boolean closed;
  private long probedAt; // used by the listening thread only

  /**
   * @param db sends the hints; nothing else waits for its connection
   * @param address for a connection that only listens
   */
  public Hints(Db db, Db.Address address) {
    this.db = db;
    this.address = address;
  }

  private static final String SEND =
      """
      /* Hints.send */
      SELECT pg_notify('carillon', ?)
      """;

  public void send(Hint hint) {
    db.inTransaction(tx -> tx.query(SEND, row -> true, hint.text()));
  }

  private static final String LISTEN =
      """
      /* Hints.listen */
      LISTEN carillon
      """;

  /** Begins to listen, unless it does. True if it did not: something may have been missed. */
  public boolean listen() {
    if (listening != null) {
      return false;
    }
    try {
      Connection connection =
          ConnectionSource.of(address, PROBE_TIMEOUT)
              .with("ApplicationName", "carillon/hints")
              .getConnection();
      listening = connection;
      run(connection, LISTEN);
      probedAt = System.nanoTime();
    } catch (SQLException e) {
      throw lost(e);
    }
    if (closed) { // while we connected
      close();
    }
    return true;
  }

  private static final String IS_THERE =
      """
      /* Hints.isThere */
      SELECT 1
      """;

  /** Waits for hints, including those of this process; empty after the timeout. */
  public List<Hint> await(Duration atMost) {
    Connection connection = listening;
    if (connection == null) {
      return List.of();
    }
    try {
      if (System.nanoTime() - probedAt > PROBE_INTERVAL.toNanos()) {
        run(connection, IS_THERE);
        probedAt = System.nanoTime();
      }
      PGNotification[] received =
          connection
              .unwrap(PGConnection.class)
              .getNotifications(Math.toIntExact(atMost.toMillis()));
      List<Hint> hints = new ArrayList<>();
      for (PGNotification each : received == null ? new PGNotification[0] : received) {
        Hint.read(each.getParameter()).ifPresent(hints::add);
        probedAt = System.nanoTime();
      }
      return hints;
    } catch (SQLException e) {
      throw lost(e);
    }
  }

  private static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private StoreException lost(SQLException cause) {
    abort();
    return new StoreException(
        "listening failed: " + cause.getMessage(), cause.getSQLState(), cause);
  }

  private void abort() {
    Connection connection = listening;
    listening = null;
    if (connection != null) {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException e) {
        // It is gone either way.
      }
    }
  }

  /** Also ends the wait of the listening thread. */
  @Override
  public void close() {
    closed = true;
    abort();
  }
}
