package carillon.testkit;

import carillon.store.db.Db;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** A user of the SQL API, with its own session. */
public final class SqlUser implements AutoCloseable {

  private final Connection connection;

  private SqlUser(Connection connection) {
    this.connection = connection;
  }

  /** Connects as the owner of the schema. */
  public static SqlUser owner(Db.Address address) throws SQLException {
    return as(address.user(), address);
  }

  public static SqlUser as(String role, Db.Address address) throws SQLException {
    return new SqlUser(DriverManager.getConnection(address.url(), role, "any"));
  }

  /** Turns off autocommit: later statements need a {@link #commit}. */
  public SqlUser begin() throws SQLException {
    connection.setAutoCommit(false);
    return this;
  }

  public SqlUser serializable() throws SQLException {
    connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    return this;
  }

  public void sql(String statement) throws SQLException {
    try (Statement s = connection.createStatement()) {
      s.execute(statement);
    }
  }

  /** The first value of the first row. */
  public @Nullable String value(String query) throws SQLException {
    try (Statement s = connection.createStatement();
        ResultSet row = s.executeQuery(query)) {
      row.next();
      return row.getString(1);
    }
  }

  /**
   * Enqueues a task and returns its id.
   *
   * @param arguments as SQL, such as {@code 'mail', key => 'k'}
   */
  public String enqueue(String arguments) throws SQLException {
    return String.valueOf(value("SELECT carillon.enqueue(" + arguments + ")"));
  }

  public int cancel(String arguments) throws SQLException {
    return Integer.parseInt(String.valueOf(value("SELECT carillon.cancel(" + arguments + ")")));
  }

  public void commit() throws SQLException {
    connection.commit();
  }

  public void rollback() throws SQLException {
    connection.rollback();
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
