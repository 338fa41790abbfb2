package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Returns dead tasks to PENDING with a fresh attempt budget, singly or in bulk. Their dead letters
 * are deleted separately, as late in the transaction as possible, because that locks the counts of
 * dead-letter groups, which every new death updates.
 */
public final class TaskRedrives {

  private final DueListener due;

  public TaskRedrives(DueListener due) {
    this.due = due;
  }

  private static final String REDRIVE =
      """
      /* TaskRedrives.redrive */
      WITH now AS MATERIALIZED (
          SELECT clock_timestamp() AS at
      ), dead AS MATERIALIZED (
          SELECT *
          FROM carillon.task_{partition}
          WHERE tenant = ?
            AND id = ANY (?)
            AND state = 'DEAD'
          ORDER BY id
          FOR UPDATE -- a concurrent redrive, edit or purge runs before this or after it
      ), history AS ( -- the row holds the last attempt and the next one will overwrite it
          INSERT INTO carillon.attempt_{partition} (
              tenant, task, partition, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error,
              output, request)
          SELECT tenant, id, partition, attempt, fence, leased_by, started_at, finished_at, 'DEAD', failure, status, error,
                 output, request
          FROM dead
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, partition, clock_timestamp(), 'DEAD', 'PENDING', fence, ?, ?
          FROM dead
      ), pending AS (
          UPDATE carillon.task_{partition} t
          SET state = 'PENDING',
              -- Its due time may have been changed while it was dead. Spread over a millisecond, like new tasks.
              ready_at = greatest(t.due_at, (SELECT at FROM now) + random() * interval '999 microseconds'),
              due_at = greatest(t.due_at, (SELECT at FROM now)), -- its maximum age counts from here
              expires_at = NULL, -- it was started in time
              attempt = 0,
              finished_at = NULL,
              cancel_requested = false,
              crashes = NULL,
              version = t.version + 1
          WHERE t.tenant = ?
            AND t.id = ANY (ARRAY(SELECT id FROM dead)) -- not a join: the planner would use a nested loop
            AND t.state = 'DEAD'
          RETURNING t.id, t.partition, t.lane, t.ready_at, t.fence,
                    coalesce(octet_length(t.payload), 0) AS payload_bytes, t.concurrency_key
      )
      INSERT INTO carillon.queue_{partition} (id, partition, lane, ready_at, fence, payload_bytes, concurrency_key)
      SELECT id, partition, lane, ready_at, fence, payload_bytes, concurrency_key
      FROM pending
      RETURNING id, lane, ready_at
      """;

  private record Redriven(TaskId id, int lane, Instant readyAt) {

    Transitions.Moved move() {
      return new Transitions.Moved(id, lane, TaskState.DEAD, TaskState.PENDING, 0);
    }
  }

  /** Redrives the dead tasks among these, all of one partition, and returns their ids. */
  public List<TaskId> redrive(
      Tx tx,
      TenantId tenant,
      Partition partition,
      Collection<TaskId> ids,
      String who,
      @Nullable String reason) {
    List<Redriven> redriven =
        tx.query(
            Sql.forPartition(REDRIVE, partition),
            TaskRedrives::redriven,
            tenant,
            Column.uuids(ids, TaskId::value),
            who,
            reason,
            tenant);
    wake(tx, partition, redriven);
    tx.moved(redriven.stream().map(Redriven::move).toList());
    return redriven.stream().map(Redriven::id).toList();
  }

  private static Redriven redriven(ResultSet row) throws SQLException {
    return new Redriven(
        new TaskId(Sql.uuid(row, "id")), row.getInt("lane"), Sql.requiredInstant(row, "ready_at"));
  }

  private void wake(Tx tx, Partition partition, List<Redriven> redriven) {
    Map<Integer, Instant> earliest = new HashMap<>();
    redriven.forEach(
        task -> earliest.merge(task.lane(), task.readyAt(), (a, b) -> a.isBefore(b) ? a : b));
    earliest.values().stream()
        .min(Instant::compareTo)
        .ifPresent(first -> Partitions.openEarlier(tx, partition, first));
    tx.afterCommit(() -> earliest.forEach((lane, at) -> due.onReady(partition, lane, at)));
  }

  private static final String DELETE_LETTERS =
      """
      /* TaskRedrives.deleteLetters */
      DELETE FROM carillon.dead_letter
      WHERE tenant = ?
        AND task = ANY (?)
      """;

  public static void deleteLetters(Tx tx, TenantId tenant, Collection<TaskId> ids) {
    tx.update(DELETE_LETTERS, tenant, Column.uuids(ids, TaskId::value));
  }
}
