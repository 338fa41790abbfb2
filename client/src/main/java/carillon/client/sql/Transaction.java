package carillon.client.sql;

import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** One transaction on a connection of whichever mode, which is as it was afterwards. */
final class Transaction {

  private Transaction() {}

  /** What is done in it. */
  @FunctionalInterface
  interface Work<T> {
    T run() throws SQLException;
  }

  /** Commits what the work wrote; rolls it back if the work throws anything at all. */
  static <T> T run(Connection connection, Work<T> work) throws SQLException {
    boolean commitsItself = connection.getAutoCommit();
    if (commitsItself) {
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
      end(connection, commitsItself, isCommitted, failure);
    }
  }

  /** A lost connection cannot be rolled back either; the first failure is the one to hear of. */
  private static void end(
      Connection connection,
      boolean commitsItself,
      boolean isCommitted,
      @Nullable Throwable failure)
      throws SQLException {
    try {
      if (!isCommitted) {
        connection.rollback();
      }
      if (commitsItself) {
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
