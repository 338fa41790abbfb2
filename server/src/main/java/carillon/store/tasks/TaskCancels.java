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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Cancels tasks of any tenants by id. Like the cancel of a single task, it locks each row and
 * checks the state under the lock. Rows are locked in the order of their ids.
 */
public final class TaskCancels {

  private static final int NEVER_STARTED = 0;

  private TaskCancels() {}

  public record Task(TenantId tenant, TaskId id) {}

  /** The actor that cancels, and the reason. */
  public record Because(String who, @Nullable String reason) {}

  private static final String CANCEL_WAITING =
      """
      /* TaskCancels.cancelWaiting */
      WITH held AS MATERIALIZED (
          SELECT t.*
          FROM unnest(?::int[], ?::uuid[]) AS n (tenant, id)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.partition
              FROM carillon.task_{partition} t
              WHERE t.tenant = n.tenant
                AND t.id = n.id
                AND t.state = 'PENDING'
                AND t.fence <= ?
              FOR UPDATE -- waits for a claim in progress; the row then no longer matches
          ) t
      ), cancelled AS (
          UPDATE carillon.task_{partition} t
          SET state = 'CANCELLED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM held h
          WHERE t.tenant = h.tenant
            AND t.id = h.id
            AND t.partition = h.partition
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence
      ), recorded AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who, reason)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'CANCELLED', fence, ?, ?
          FROM cancelled
      )
      SELECT id, lane, attempt
      FROM cancelled
      """;

  /** Cancels the waiting tasks that were never started, and returns their ids. */
  public static Set<TaskId> cancelUnstarted(Tx tx, Collection<Task> tasks, Because because) {
    return cancelWaiting(tx, tasks, NEVER_STARTED, because);
  }

  private static final String REQUEST_CANCEL =
      """
      /* TaskCancels.requestCancel */
      WITH held AS MATERIALIZED (
          SELECT t.*
          FROM unnest(?::int[], ?::uuid[]) AS n (tenant, id)
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id, t.partition
              FROM carillon.task_{partition} t
              WHERE t.tenant = n.tenant
                AND t.id = n.id
                AND t.state = 'RUNNING'
                AND NOT t.cancel_requested
              FOR UPDATE
          ) t
      )
      UPDATE carillon.task_{partition} t
      SET cancel_requested = true,
          version = t.version + 1
      FROM held h
      WHERE t.tenant = h.tenant
        AND t.id = h.id
        AND t.partition = h.partition
        AND t.state = 'RUNNING'
        AND NOT t.cancel_requested
      """;

  /**
   * Cancels the waiting tasks and requests the cancel of the running ones, both before and after: a
   * task that is claimed or released in between is caught by one of the three statements.
   */
  public static void cancel(Tx tx, Collection<Task> tasks, Because because) {
    requestCancel(tx, tasks);
    Set<TaskId> cancelled = cancelWaiting(tx, tasks, Integer.MAX_VALUE, because);
    requestCancel(tx, tasks.stream().filter(task -> !cancelled.contains(task.id())).toList());
  }

  private static Set<TaskId> cancelWaiting(
      Tx tx, Collection<Task> tasks, int lastFence, Because because) {
    List<Transitions.Moved> moved = new ArrayList<>();
    byPartition(tasks)
        .forEach(
            (partition, some) ->
                moved.addAll(
                    tx.query(
                        Sql.forPartition(CANCEL_WAITING, partition),
                        row -> Sql.moved(row, TaskState.PENDING, TaskState.CANCELLED),
                        Column.ints(some, task -> task.tenant().value()),
                        Column.uuids(some, task -> task.id().value()),
                        lastFence,
                        because.who(),
                        because.reason())));
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
