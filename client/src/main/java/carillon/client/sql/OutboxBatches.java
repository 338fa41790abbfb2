package carillon.client.sql;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The batches of an outbox. The first row of a batch (place 1) stands for the batch: locking it
 * locks the batch, and its {@code sender} is set before the first call. Without a sender, the batch
 * was never sent.
 */
final class OutboxBatches {

  private static final int MAX_ROWS = 500;
  private static final int MAX_BYTES = 4 << 20;

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

  /** Forms a batch of the oldest rows without one. Commit before sending it. */
  boolean gather(Connection connection) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(GATHER))) {
      statement.setInt(1, MAX_ROWS);
      statement.setObject(2, UUID.randomUUID());
      statement.setInt(3, MAX_BYTES);
      return statement.executeUpdate() > 0;
    }
  }

  /**
   * A batch to send.
   *
   * @param sender identifies this attempt to send it
   * @param isRepeat whether it may have been sent before
   */
  record Batch(UUID id, UUID sender, boolean isRepeat) {}

  private static final String TAKE_ONE =
      """
      /* OutboxBatches.takeOne */
      WITH free AS MATERIALIZED (
          SELECT id, sender
          FROM :table
          WHERE batch IS NOT NULL
            AND place = 1
            AND error IS NULL
            AND batch <> ALL (?)
          ORDER BY created_at
          LIMIT 1
          FOR UPDATE SKIP LOCKED
      )
      UPDATE :table AS first
      SET sender = ?
      FROM free
      WHERE first.id = free.id
      RETURNING first.batch, free.sender IS NOT NULL
      """;

  /**
   * Marks an unlocked batch as about to be sent; empty if there is none. Commit and lock it before
   * sending it.
   *
   * @param skipped batches to skip
   */
  Optional<Batch> takeOne(Connection connection, Collection<UUID> skipped) throws SQLException {
    UUID sender = UUID.randomUUID();
    try (PreparedStatement statement = connection.prepareStatement(table.sql(TAKE_ONE))) {
      Array array = connection.createArrayOf("uuid", skipped.toArray());
      statement.setArray(1, array);
      statement.setObject(2, sender);
      try (ResultSet row = statement.executeQuery()) {
        return row.next()
            ? Optional.of(new Batch(row.getObject(1, UUID.class), sender, row.getBoolean(2)))
            : Optional.empty();
      }
    }
  }

  private static final String LOCK =
      """
      /* OutboxBatches.lock */
      SELECT
      FROM :table
      WHERE batch = ?
        AND place = 1
        AND sender = ?
      FOR UPDATE SKIP LOCKED
      """;

  /** Locks a batch until the transaction ends. Returns false if another sender has it. */
  boolean lock(Connection connection, Batch batch) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(LOCK))) {
      statement.setObject(1, batch.id());
      statement.setObject(2, batch.sender());
      try (ResultSet row = statement.executeQuery()) {
        return row.next();
      }
    }
  }

  private static final String MARK_UNSENT =
      """
      /* OutboxBatches.markUnsent */
      UPDATE :table
      SET sender = NULL
      WHERE batch = ?
        AND place = 1
      """;

  /** Marks a batch as never sent. The server certainly did not store it. */
  void markUnsent(Connection connection, UUID batch) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(MARK_UNSENT))) {
      statement.setObject(1, batch);
      statement.executeUpdate();
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

  /** The tasks of a batch, always in the same order: a repeated call must be identical. */
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

  /** Deletes the rows of a batch that was stored. */
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
          place = CASE WHEN place <= ? THEN place ELSE place - ? END,
          sender = NULL
      WHERE batch = ?
      """;

  /**
   * Splits a rejected batch in two, so that its valid rows get through. Never call it for a batch
   * that may have been stored: the new keys would store its rows again.
   */
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

  private static final String REJECT =
      """
      /* OutboxBatches.reject */
      UPDATE :table
      SET batch = NULL, place = NULL, sender = NULL, error = ?
      WHERE batch = ?
      """;

  private static final String REJECT_WHOLE =
      """
      /* OutboxBatches.rejectWhole */
      UPDATE :table
      SET error = ?
      WHERE batch = ?
      """;

  /** Marks the rows of a batch as rejected and dissolves the batch. */
  void reject(Connection connection, UUID batch, String error) throws SQLException {
    reject(connection, REJECT, batch, error);
  }

  /** Marks the rows of a batch as rejected and keeps the batch, so that a retry uses its key. */
  void rejectWhole(Connection connection, UUID batch, String error) throws SQLException {
    reject(connection, REJECT_WHOLE, batch, error);
  }

  private void reject(Connection connection, String sql, UUID batch, String error)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(table.sql(sql))) {
      statement.setString(1, error.replace("\0", ""));
      statement.setObject(2, batch);
      statement.executeUpdate();
    }
  }
}
