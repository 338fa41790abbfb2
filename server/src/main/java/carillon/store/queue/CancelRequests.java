package carillon.store.queue;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskCancels;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Cancels that users requested in SQL for running tasks. The users' transactions only insert a
 * request: they may stay open for a long time, and a lock on the task would block its outcome.
 */
final class CancelRequests {

  private CancelRequests() {}

  private record Request(long id, TaskCancels.Task task, String who, boolean isKept) {}

  private static final String OPEN =
      """
      /* CancelRequests.open */
      SELECT r.id, r.tenant, r.task, r.who, s.day IS NOT NULL AS is_kept
      FROM carillon.cancel_request r
      LEFT JOIN carillon.partition s ON s.day = r.partition
      ORDER BY r.id
      LIMIT ?
      """;

  private static final String REMOVE =
      """
      /* CancelRequests.remove */
      DELETE FROM carillon.cancel_request
      WHERE id = ANY (?)
      """;

  /** Applies and deletes the oldest requests; returns how many. */
  static int apply(Tx tx, int limit) {
    List<Request> open =
        tx.query(
            OPEN,
            row ->
                new Request(
                    row.getLong("id"),
                    new TaskCancels.Task(
                        new TenantId(row.getInt("tenant")), new TaskId(Sql.uuid(row, "task"))),
                    row.getString("who"),
                    row.getBoolean("is_kept")),
            limit);
    if (open.isEmpty()) {
      return 0;
    }
    Map<String, List<TaskCancels.Task>> byWho = new TreeMap<>();
    open.stream()
        .filter(Request::isKept)
        .forEach(r -> byWho.computeIfAbsent(r.who(), _ -> new ArrayList<>()).add(r.task()));
    byWho.forEach(
        (who, tasks) -> TaskCancels.cancel(tx, tasks, new TaskCancels.Because(who, null)));
    tx.update(REMOVE, Column.longs(open, Request::id));
    return open.size();
  }
}
