package carillon.client.sql;

import carillon.client.TaskContext;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * Records processed tasks in your own PostgreSQL database, so that a task that is delivered again
 * takes effect once.
 *
 * <pre>{@code
 * Ledger ledger = Ledger.of(dataSource);
 * ledger.createTable();
 * carillon.worker("biller")
 *     .handle("invoice.pay", Invoice.class, (invoice, context) -> {
 *       ledger.once(context, connection -> pay(connection, invoice));
 *       return null;
 *     })
 * }</pre>
 *
 * <p>The mark and the work are one transaction. Two concurrent deliveries of a task wait for each
 * other at the mark. Thread-safe.
 */
public final class Ledger {

  private final DataSource database;
  private final Table table;

  private Ledger(DataSource database, Table table) {
    this.database = database;
    this.table = table;
  }

  /** A ledger in the table {@code processed_task} of this database. */
  public static Ledger of(DataSource database) {
    return new Ledger(database, new Table("processed_task"));
  }

  /** Returns this ledger in another table, such as {@code app.processed_task}. */
  public Ledger inTable(String name) {
    return new Ledger(database, new Table(name));
  }

  private static final String CREATE =
      """
      /* Ledger.createTable */
      CREATE TABLE IF NOT EXISTS :table (
          task_id uuid PRIMARY KEY,
          fence bigint NOT NULL,
          processed_at timestamptz NOT NULL DEFAULT clock_timestamp()
      )
      """;

  /** Creates the table if it is missing. You can also create it in your own migration. */
  public void createTable() throws SQLException {
    table.create(database, CREATE);
  }

  /**
   * Runs the work and marks the task as processed, in one transaction of its own, unless the task
   * was processed before.
   *
   * @return false if the task was processed before and the work was not run
   * @throws SQLException if the database failed; let the task be delivered again, which shows
   *     whether the commit succeeded
   */
  public boolean once(TaskContext task, SqlWork work) throws SQLException {
    try (Connection connection = database.getConnection()) {
      return Transaction.run(
          connection,
          () -> {
            boolean isNew = mark(connection, task);
            if (isNew) {
              work.run(connection);
            }
            return isNew;
          });
    }
  }

  /**
   * Marks the task as processed in the open transaction of the connection. Commit it together with
   * your work.
   *
   * @return false if the task was processed before: skip the work
   * @throws IllegalStateException if the connection is in autocommit mode, which would commit the
   *     mark without the work
   */
  public boolean markProcessed(Connection connection, TaskContext task) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "the connection is in autocommit mode: call setAutoCommit(false) first, and commit the"
              + " mark with your own work");
    }
    return mark(connection, task);
  }

  private static final String MARK =
      """
      /* Ledger.mark */
      INSERT INTO :table (task_id, fence)
      VALUES (?, ?)
      ON CONFLICT (task_id) DO NOTHING -- waits for a concurrent delivery
      """;

  private boolean mark(Connection connection, TaskContext task) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(MARK))) {
      statement.setObject(1, task.id());
      statement.setLong(2, task.fence());
      return statement.executeUpdate() == 1;
    }
  }

  private static final String IS_PROCESSED =
      """
      /* Ledger.isProcessed */
      SELECT 1
      FROM :table
      WHERE task_id = ?
      """;

  /** Whether the task has been processed. */
  public boolean isProcessed(UUID task) throws SQLException {
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(table.sql(IS_PROCESSED))) {
      statement.setObject(1, task);
      try (var rows = statement.executeQuery()) {
        return rows.next();
      }
    }
  }

  private static final String FORGET =
      """
      /* Ledger.forgetBefore */
      DELETE FROM :table
      WHERE processed_at < clock_timestamp() - make_interval(secs => ?)
      """;

  /**
   * Deletes marks older than this. A task without its mark could take effect again, so keep marks
   * longer than all retries of a task and the time in which it may be redriven.
   *
   * @return the number of deleted marks
   */
  public int forgetBefore(Duration age) throws SQLException {
    try (Connection connection = database.getConnection()) {
      return Transaction.run(
          connection,
          () -> {
            try (PreparedStatement statement = connection.prepareStatement(table.sql(FORGET))) {
              statement.setDouble(1, age.toMillis() / 1000.0);
              return statement.executeUpdate();
            }
          });
    }
  }
}
