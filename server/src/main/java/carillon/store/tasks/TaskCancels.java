package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Cancels tasks of any tenants by id. Like the cancel of a single task, it locks the row of each
 * task, then its row of the queue, and checks the state under these locks. Unless the caller gives
 * another order, rows are locked in the order of their ids.
 */
public final class TaskCancels {

  private static final int NEVER_STARTED = 0;

  private TaskCancels() {}

  public record Task(TenantId tenant, TaskId id) {}

  /** The actor that cancels, and the reason. */
  public record Because(String who, @Nullable String reason) {}

  private static final String LOCKED =
      """
      locked AS MATERIALIZED (
          SELECT t.*
          FROM unnest(?::int[], ?::uuid[]) AS n (tenant, id)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.lane, t.ready_at
              FROM carillon.task_{partition} t
              WHERE t.tenant = n.tenant
                AND t.id = n.id
                AND t.state = 'PENDING'
                AND t.fence <= ?
              FOR UPDATE
          ) t
      )\
      """;

  // CANCEL_WAITING is a statement of its own, after this one: it sees the rows of the queue as they
  // were left by the transactions that this one has waited for.
  private static final String LOCK =
      """
      /* TaskCancels.lock */
      WITH %s
      SELECT count(*) AS tasks
      FROM locked
      """
          .formatted(LOCKED);

  private static final String CANCEL_WAITING =
      """
      /* TaskCancels.cancelWaiting */
      WITH %s, queued AS MATERIALIZED ( -- one by one: with old statistics, a join may read the whole queue first
          SELECT l.tenant, q.row_id
          FROM locked l
          CROSS JOIN LATERAL (
              SELECT q.ctid AS row_id
              FROM carillon.queue_{partition} q
              WHERE q.lane = l.lane
                AND q.ready_at = l.ready_at
                AND q.id = l.id
              FOR UPDATE -- waits for a claim in progress, which leaves no row
          ) q
      ), taken AS (
          DELETE FROM carillon.queue_{partition} q
          USING queued
          WHERE q.ctid = queued.row_id
          RETURNING queued.tenant, q.id
      ), cancelled AS (
          UPDATE carillon.task_{partition} t
          SET state = 'CANCELLED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM taken
          WHERE t.tenant = taken.tenant
            AND t.id = taken.id
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence
      ), recorded AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'CANCELLED', fence, ?, ?
          FROM cancelled
      )
      SELECT id, lane, attempt
      FROM cancelled
      """
          .formatted(LOCKED);

  /** Cancels the waiting tasks that were never started, and returns their ids. */
  public static Set<TaskId> cancelUnstarted(Tx tx, Collection<Task> tasks, Because because) {
    return cancelWaiting(tx, tasks, NEVER_STARTED, because);
  }

  private static final String REQUEST_CANCEL =
      """
      /* TaskCancels.requestCancel */
      UPDATE carillon.task_{partition} t
      SET cancel_requested = true,
          version = t.version + 1
      FROM unnest(?::int[], ?::uuid[]) AS n (tenant, id)
      WHERE t.tenant = n.tenant
        AND t.id = n.id
        AND t.state = 'PENDING'
        AND NOT t.cancel_requested
        AND (SELECT true
             FROM carillon.queue_{partition} q
             WHERE q.lane = t.lane
               AND q.ready_at = t.ready_at
               AND q.id = t.id
             LIMIT 1) IS NULL
      """;

  /**
   * Cancels the waiting tasks and requests the cancel of the running ones. All of them stay locked
   * in between: none is claimed or released meanwhile.
   */
  public static void cancel(Tx tx, Collection<Task> tasks, Because because) {
    cancelWaiting(tx, tasks, Integer.MAX_VALUE, because);
    requestCancel(tx, tasks); // changes none of those that were cancelled
  }

  private static Set<TaskId> cancelWaiting(
      Tx tx, Collection<Task> tasks, int lastFence, Because because) {
    Set<TaskId> cancelled = new HashSet<>();
    byPartition(tasks)
        .forEach(
            (partition, some) ->
                cancelled.addAll(cancelWaiting(tx, partition, some, lastFence, because)));
    return cancelled;
  }

  /** Cancels the waiting tasks of a partition, locks them in this order, and returns their ids. */
  static Set<TaskId> cancelWaiting(Tx tx, Partition partition, List<Task> tasks, Because because) {
    return cancelWaiting(tx, partition, tasks, Integer.MAX_VALUE, because);
  }

  private static Set<TaskId> cancelWaiting(
      Tx tx, Partition partition, List<Task> tasks, int lastFence, Because because) {
    Column tenants = Column.ints(tasks, task -> task.tenant().value());
    Column ids = Column.uuids(tasks, task -> task.id().value());
    List<Transitions.Moved> moved = new ArrayList<>();
    tx.queryTogether(
        Tx.Query.of(Sql.forPartition(LOCK, partition), _ -> {}, tenants, ids, lastFence),
        Tx.Query.of(
            Sql.forPartition(CANCEL_WAITING, partition),
            row -> moved.add(Sql.moved(row, TaskState.PENDING, TaskState.CANCELLED)),
            tenants,
            ids,
            lastFence,
            because.who(),
            because.reason()));
    tx.moved(moved);
    return moved.stream().map(Transitions.Moved::id).collect(Collectors.toSet());
  }

  private static void requestCancel(Tx tx, Collection<Task> tasks) {
    byPartition(tasks)
        .forEach(
            (partition, some) ->
                tx.update(
                    Sql.forPartition(REQUEST_CANCEL, partition),
                    Column.ints(some, task -> task.tenant().value()),
                    Column.uuids(some, task -> task.id().value())));
  }

  private static Map<Partition, List<Task>> byPartition(Collection<Task> tasks) {
    Map<Partition, List<Task>> byPartition = new TreeMap<>();
    tasks.stream()
        .sorted(Comparator.comparing(task -> task.id().toString())) // rows are locked in this order
        .forEach(
            task ->
                byPartition
                    .computeIfAbsent(task.id().partition(), _ -> new ArrayList<>())
                    .add(task));
    return byPartition;
  }
}
