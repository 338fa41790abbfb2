package carillon.client.sql;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Runs one transaction and restores the autocommit mode of the connection. */
final class Transaction {

  private Transaction() {}

  @FunctionalInterface
  interface Work<T> {
    T run() throws SQLException;
  }

  /** Commits the work, or rolls it back if it throws. */
  static <T> T run(Connection connection, Work<T> work) throws SQLException {
    boolean isAutoCommit = connection.getAutoCommit();
    if (isAutoCommit) {
      connection.setAutoCommit(false);
    }
    boolean isCommitted = false;
    Throwable failure = null;
    try {
      T result = work.run();
      connection.commit();
      isCommitted = true;
      return result;
    } catch (Throwable e) {
      failure = e;
      throw e;
    } finally {
      end(connection, isAutoCommit, isCommitted, failure);
    }
  }

  /** A rollback on a lost connection fails as well; the first failure is thrown. */
  private static void end(
      Connection connection, boolean isAutoCommit, boolean isCommitted, @Nullable Throwable failure)
      throws SQLException {
    try {
      if (!isCommitted) {
        connection.rollback();
      }
      if (isAutoCommit) {
        connection.setAutoCommit(true);
      }
    } catch (SQLException e) {
      if (failure == null) {
        throw e;
      }
      failure.addSuppressed(e);
    }
  }
}
