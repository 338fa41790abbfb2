package carillon.client.sql;

import java.sql.Connection;
import java.sql.SQLException;

/** The work of a handler on the connection whose transaction the ledger commits. */
@FunctionalInterface
public interface SqlWork {

  /**
   * Writes without committing.
   *
   * @throws SQLException or any unchecked exception to roll back; the task is then not processed
   */
  void run(Connection connection) throws SQLException;
}
