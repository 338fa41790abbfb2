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
 * What nodes tell one another through the database, outside of all other transactions. Said to
 * whoever listens at the moment, and kept for nobody.
 */
public final class Hints implements AutoCloseable {

  /** So often the server is asked something: else a connection that is gone may go unnoticed. */
  private static final Duration SIGN_OF_LIFE = Duration.ofSeconds(10);

  /** For an answer of the server, if it is asked something. */
  private static final Duration PATIENCE = Duration.ofSeconds(15);

  private final Db db;
  private final Db.Address address;
  private volatile @Nullable Connection listening;
  private volatile boolean closed;
  private long heardAt; // of who listens only

  /**
   * @param db with a connection that nobody waits for
   * @param address for a connection that listens and does nothing else
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
          ConnectionSource.of(address, PATIENCE)
              .with("ApplicationName", "carillon/hints")
              .getConnection();
      listening = connection;
      run(connection, LISTEN);
      heardAt = System.nanoTime();
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

  /** Waits for hints, also for those that this process sent; none if nobody said anything. */
  public List<Hint> await(Duration atMost) {
    Connection connection = listening;
    if (connection == null) {
      return List.of();
    }
    try {
      if (System.nanoTime() - heardAt > SIGN_OF_LIFE.toNanos()) {
        run(connection, IS_THERE);
        heardAt = System.nanoTime();
      }
      PGNotification[] heard =
          connection
              .unwrap(PGConnection.class)
              .getNotifications(Math.toIntExact(atMost.toMillis()));
      List<Hint> hints = new ArrayList<>();
      for (PGNotification each : heard == null ? new PGNotification[0] : heard) {
        Hint.read(each.getParameter()).ifPresent(hints::add);
        heardAt = System.nanoTime();
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

  /** Ends the wait of who listens, too. */
  @Override
  public void close() {
    closed = true;
    abort();
  }
}
