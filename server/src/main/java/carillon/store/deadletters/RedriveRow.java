package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetters.Position;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The row of a redrive, as a step reads it under its lock.
 *
 * @param ids of the filter; empty unless it selects by id
 * @param after the cursor: the last letter that a step has seen
 */
record RedriveRow(
    Redrive redrive,
    TenantId tenant,
    List<TaskId> ids,
    @Nullable Position after,
    long steps,
    @Nullable Instant steppedAt,
    @Nullable String undoneBy) {

  DeadLetterFilter filter() {
    return DeadLetterFilter.parse(redrive.filter(), ids).until(redrive.createdAt());
  }

  static final String COLUMNS =
      """
      id, tenant, state, filter, rate, who, created_at, ended_at, matched, at_least, redriven, refused, undone,
      after_at, after_task, steps, stepped_at, undone_by
      """;

  private static RedriveRow read(ResultSet row) throws SQLException {
    Instant afterAt = Sql.instant(row, "after_at");
    return new RedriveRow(
        redrive(row, null, null),
        new TenantId(row.getInt("tenant")),
        Stream.of(Sql.uuids(row, "ids")).map(TaskId::new).toList(),
        afterAt == null ? null : new Position(afterAt, new TaskId(Sql.uuid(row, "after_task"))),
        row.getLong("steps"),
        Sql.instant(row, "stepped_at"),
        row.getString("undone_by"));
  }

  static Redrive redrive(ResultSet row, @Nullable Integer waiting, @Nullable String groupError)
      throws SQLException {
    return new Redrive(
        Sql.uuid(row, "id"),
        Redrive.State.valueOf(row.getString("state")),
        row.getString("filter"),
        Sql.integer(row, "rate"),
        row.getString("who"),
        Sql.requiredInstant(row, "created_at"),
        Sql.instant(row, "ended_at"),
        row.getLong("matched"),
        row.getBoolean("at_least"),
        row.getLong("redriven"),
        row.getLong("refused"),
        row.getLong("undone"),
        waiting,
        groupError);
  }

  private static final String LOCK =
      """
      /* RedriveRow.lock */
      SELECT %s, ids
      FROM carillon.redrive
      WHERE id = ?
        AND tenant = ?
      FOR UPDATE
      """
          .formatted(COLUMNS);

  static Optional<RedriveRow> lock(Tx tx, TenantId tenant, UUID id) {
    return tx.queryOne(LOCK, RedriveRow::read, id, tenant);
  }
}
