package carillon.client.sql;

import carillon.client.TaskContext;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import javax.sql.DataSource;

/**
 * Remembers, in the user's own PostgreSQL database, which tasks have been processed, so that a task
 * that is delivered again has its effect once.
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
 * <p>The mark and the work are one transaction: both are there, or neither is. Two deliveries of a
 * task at the same time wait for each other at the mark. Safe to share between threads.
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

  /** The same in another table, such as {@code app.processed_task}. */
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

  /** Makes the table where it is missing; a migration of your own may do the same. */
  public void createTable() throws SQLException {
    table.create(database, CREATE);
  }

  /**
   * Does the work unless it was done before, and marks the task as processed, in one transaction of
   * its own.
   *
   * @return false if the task had been processed before: then the work was not called
   * @throws SQLException if the database refused or was lost; after that the task is to be
   *     delivered again, and only then it is known whether the commit had arrived
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
   * Marks the task as processed in the transaction that is open on the connection; commit both, or
   * roll both back.
   *
   * @return false if it had been processed before: then leave the work out
   * @throws IllegalStateException if the connection commits by itself, which would keep the mark
   *     without the work
   */
  public boolean markProcessed(Connection connection, TaskContext task) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "the connection commits each statement: call setAutoCommit(false) first, and commit the"
              + " mark with your own work");
    }
    return mark(connection, task);
  }

  private static final String MARK =
      """
      /* Ledger.mark */
      INSERT INTO :table (task_id, fence)
      VALUES (?, ?)
      ON CONFLICT (task_id) DO NOTHING -- waits for another delivery that is just being processed
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

  /** Whether the task has been processed, for those who ask later. */
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
   * Forgets what was processed longer ago than this. What is forgotten could have its effect again,
   * so keep more than a task's whole life: its retries, and the days in which somebody may redrive
   * it.
   *
   * @return how many were forgotten
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
