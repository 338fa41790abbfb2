package carillon.client.sql;

import java.sql.Connection;
import java.sql.SQLException;

/** What a handler writes for a task, on the connection whose transaction the ledger commits. */
@FunctionalInterface
public interface SqlWork {

  /**
   * Writes, and leaves committing to the caller.
   *
   * @throws SQLException or anything unchecked to roll back: the task then counts as not processed
   */
  void run(Connection connection) throws SQLException;
}
