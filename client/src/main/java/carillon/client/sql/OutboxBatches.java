package carillon.client.sql;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The rows of an outbox that are being forwarded: each belongs to a batch and has its place in it.
 * Who holds the lock on the row in place 1 holds the batch.
 */
final class OutboxBatches {

  private static final int MOST_ROWS = 500;
  private static final int MOST_BYTES = 4 << 20;

  private final Table table;

  OutboxBatches(Table table) {
    this.table = table;
  }

  private static final String GATHER =
      """
      /* OutboxBatches.gather */
      WITH waiting AS MATERIALIZED (
          SELECT id, created_at, octet_length(task) AS bytes
          FROM :table
          WHERE batch IS NULL
            AND error IS NULL
          ORDER BY created_at
          LIMIT ?
          FOR UPDATE SKIP LOCKED
      ), placed AS (
          SELECT id, row_number() OVER line AS place, sum(bytes) OVER line AS bytes
          FROM waiting
          WINDOW line AS (ORDER BY created_at, id ROWS UNBOUNDED PRECEDING)
      )
      UPDATE :table AS waiting_row
      SET batch = ?, place = placed.place
      FROM placed
      WHERE waiting_row.id = placed.id
        AND (placed.place = 1 OR placed.bytes <= ?)
      """;

  /** Makes a batch of the oldest rows that have none; commit before it is sent. */
  boolean gather(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(GATHER))) {
      statement.setInt(1, MOST_ROWS);
      statement.setObject(2, UUID.randomUUID());
      statement.setInt(3, MOST_BYTES);
      return statement.executeUpdate() > 0;
    }
  }

  private static final String LOCK_ONE =
      """
      /* OutboxBatches.lockOne */
      SELECT batch
      FROM :table
      WHERE batch IS NOT NULL
        AND place = 1
        AND batch <> ALL (?)
      ORDER BY created_at
      LIMIT 1
      FOR UPDATE SKIP LOCKED
      """;

  /**
   * Takes a batch that nobody else holds, until the transaction ends; null if there is none.
   *
   * @param putOff batches to leave alone
   */
  @Nullable UUID lockOne(Connection connection, Collection<UUID> putOff) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(LOCK_ONE))) {
      Array array = connection.createArrayOf("uuid", putOff.toArray());
      statement.setArray(1, array);
      try (ResultSet row = statement.executeQuery()) {
        return row.next() ? row.getObject(1, UUID.class) : null;
      }
    }
  }

  private static final String TASKS =
      """
      /* OutboxBatches.tasks */
      SELECT task
      FROM :table
      WHERE batch = ?
      ORDER BY place
      """;

  /** What is sent for a batch, always in the same order: a repeat must not differ. */
  List<String> tasks(Connection connection, UUID batch) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(TASKS))) {
      statement.setObject(1, batch);
      try (ResultSet rows = statement.executeQuery()) {
        List<String> tasks = new ArrayList<>();
        while (rows.next()) {
          tasks.add(rows.getString(1));
        }
        return tasks;
      }
    }
  }

  private static final String DELETE =
      """
      /* OutboxBatches.delete */
      DELETE FROM :table
      WHERE batch = ?
      """;

  /** Removes what has become tasks. */
  void delete(Connection connection, UUID batch) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(DELETE))) {
      statement.setObject(1, batch);
      statement.executeUpdate();
    }
  }

  private static final String SPLIT =
      """
      /* OutboxBatches.split */
      UPDATE :table
      SET batch = CASE WHEN place <= ? THEN ?::uuid ELSE ?::uuid END,
          place = CASE WHEN place <= ? THEN place ELSE place - ? END
      WHERE batch = ?
      """;

  /** Makes two batches of one that was refused, so that its good rows get through. */
  void split(Connection connection, UUID batch, int first) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(SPLIT))) {
      statement.setInt(1, first);
      statement.setObject(2, UUID.randomUUID());
      statement.setObject(3, UUID.randomUUID());
      statement.setInt(4, first);
      statement.setInt(5, first);
      statement.setObject(6, batch);
      statement.executeUpdate();
    }
  }

  private static final String REFUSE =
      """
      /* OutboxBatches.refuse */
      UPDATE :table
      SET batch = NULL, place = NULL, error = ?
      WHERE batch = ?
      """;

  /** Keeps the rows of a batch with the reason why they will not be sent again. */
  void refuse(Connection connection, UUID batch, String error) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(REFUSE))) {
      statement.setString(1, error.replace("\0", ""));
      statement.setObject(2, batch);
      statement.executeUpdate();
    }
  }
}
