package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.Lease;
import carillon.store.db.Column;
import carillon.store.db.Tx;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Compares reports and renewals of workers with the claims made for them. The fence alone cannot
 * decide about a worker: a task that waits has a fence, too, and the next one is easy to guess. A
 * claim that lists a task under a fence is the only one that ever will. So a task whose row does
 * not have the end of that lease is held by it, and no lock is needed here.
 */
final class WorkerClaims {

  private WorkerClaims() {}

  // In the list of columns and not in WHERE, where the planner would compare each lease with each
  // task of its claim: here it builds a hash table.
  private static final String HELD =
      """
      /* WorkerClaims.held */
      SELECT n.n,
             (n.claim, n.id, n.fence) IN (
                 SELECT c.id, h.id, h.fence
                 FROM carillon.claim c
                 CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
                 WHERE c.id = ANY (?)
                   AND c.node IS NULL
                   AND h.tenant = ?) AS is_held
      FROM unnest(?::uuid[], ?::uuid[], ?::int[]) WITH ORDINALITY AS n (claim, id, fence, n)
      ORDER BY n.n
      """;

  /**
   * Returns the items whose lease was given to a worker for that task, by the partition of the
   * task. The lease may have ended since. A partition with a claim exists, while an id from a
   * client can name any day.
   */
  static <T> Map<Partition, List<T>> held(
      Tx tx, TenantId tenant, List<T> items, Function<T, TaskId> id, Function<T, Lease> lease) {
    List<Boolean> isHeld = new ArrayList<>();
    tx.query(
        HELD,
        row -> isHeld.add(row.getBoolean("is_held")),
        Column.uuids(
            items.stream().map(item -> lease.apply(item).claim()).distinct().toList(), c -> c),
        tenant,
        Column.uuids(items, item -> lease.apply(item).claim()),
        Column.uuids(items, item -> id.apply(item).value()),
        Column.ints(items, item -> lease.apply(item).fence()));
    Map<Partition, List<T>> byPartition = new TreeMap<>();
    for (int i = 0; i < items.size(); i++) {
      if (isHeld.get(i)) {
        T item = items.get(i);
        byPartition.computeIfAbsent(id.apply(item).partition(), _ -> new ArrayList<>()).add(item);
      }
    }
    return byPartition;
  }
}
