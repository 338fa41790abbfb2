package carillon.store.db;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Opens connections, all with timeouts, and checks the timeline of each. */
public final class ConnectionSource implements DataSource {

  private final Db.Address address;
  private final Properties properties;
  private final @Nullable Timeline timeline;
  private final boolean persists;
  private volatile @Nullable SQLException failure;
  private volatile boolean isStopped;

  private ConnectionSource(
      Db.Address address, Properties properties, @Nullable Timeline timeline, boolean persists) {
    this.address = address;
    this.properties = properties;
    this.timeline = timeline;
    this.persists = persists;
  }

  /**
   * Connects to this address, without any further settings.
   *
   * @param timeout for a response; zero means none
   */
  public static ConnectionSource of(Db.Address address, Duration timeout) {
    return new ConnectionSource(address, properties(address, timeout), null, false);
  }

  ConnectionSource checking(Timeline at) {
    return new ConnectionSource(address, properties, at, persists);
  }

  /** With another setting of the driver. */
  public ConnectionSource with(String name, String value) {
    Properties more = new Properties();
    more.putAll(properties);
    more.setProperty(name, value);
    return new ConnectionSource(address, more, timeline, persists);
  }

  /** Parameters in the URL override these. */
  private static Properties properties(Db.Address address, Duration timeout) {
    Properties properties = new Properties();
    properties.setProperty("user", address.user());
    if (address.password() != null) {
      properties.setProperty("password", address.password());
    }
    properties.setProperty("connectTimeout", "3");
    properties.setProperty("socketTimeout", String.valueOf(timeout.toSeconds()));
    properties.setProperty("tcpKeepAlive", "true");
    if (address.pooler() == Pooler.TRANSACTION) {
      properties.setProperty("prepareThreshold", "0"); // the next transaction has another session
    }
    if (address.hasSeveralHosts()) {
      properties.setProperty("targetServerType", "primary");
      properties.setProperty("connectTimeout", "2");
      // The driver would remember for 10 s that a host was a standby, promoted or not.
      properties.setProperty("hostRecheckSeconds", "1");
    }
    return properties;
  }

  /** For a pool: retries until there is a connection, or it is stopped. */
  ConnectionSource persisting() {
    return new ConnectionSource(address, properties, timeline, true);
  }

  @Override
  public Connection getConnection() throws SQLException {
    while (true) {
      try {
        Connection connection = connect();
        failure = null;
        return connection;
      } catch (SQLException e) {
        failure = e;
        if (!persists || isStopped || !paused() || isStopped) {
          throw e;
        }
      }
    }
  }

  /** Ends all attempts to connect. */
  void stop() {
    isStopped = true;
  }

  /**
   * The pool's own pauses grow to 5 s and are equal on all nodes: nodes would notice a restarted
   * server late, and then all connect at once.
   */
  private static boolean paused() {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextInt(200, 800));
      return true;
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Why there is no connection, if the last one could not be made. */
  @Nullable SQLException failure() {
    return failure;
  }

  private Connection connect() throws SQLException {
    Connection connection = DriverManager.getConnection(address.url(), properties);
    if (timeline != null) {
      try {
        timeline.check(connection);
      } catch (SQLException | RuntimeException e) {
        connection.close();
        throw e;
      }
    }
    return connection;
  }

  @Override
  public Connection getConnection(String user, String password) throws SQLException {
    throw new SQLFeatureNotSupportedException("the address has the user");
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(@Nullable PrintWriter out) {
    // The driver has a log of its own.
  }

  /**
   * The timeout of the whole login, over all hosts. With several hosts it could end before the last
   * one is tried, so then only each host has a timeout.
   */
  @Override
  public void setLoginTimeout(int seconds) {
    if (!address.hasSeveralHosts()) {
      properties.setProperty("loginTimeout", String.valueOf(seconds));
    }
  }

  @Override
  public int getLoginTimeout() {
    return Integer.parseInt(properties.getProperty("loginTimeout", "0"));
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException();
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLFeatureNotSupportedException();
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
