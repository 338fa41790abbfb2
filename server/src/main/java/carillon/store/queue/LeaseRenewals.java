package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskType;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.queue.PullQueue.RenewResult;
import carillon.store.queue.PullQueue.Renewal;
import carillon.store.queue.PullQueue.Renewed;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Renews the leases of workers. */
final class LeaseRenewals {

  private LeaseRenewals() {}

  private static final String RENEW =
      """
      /* LeaseRenewals.renew */
      UPDATE carillon.task_{partition} t
      SET lease_until = clock_timestamp() + make_interval(secs => coalesce(
              ?::bigint,
              (SELECT tt.lease_timeout_ms
               FROM carillon.lane l
               JOIN carillon.task_type tt ON tt.tenant = l.tenant AND tt.name = l.type
               WHERE l.id = t.lane),
              ?::bigint) / 1000.0),
          progress = coalesce(held.progress, t.progress)
      FROM unnest(?::uuid[], ?::int[], ?::uuid[], ?::text[]) AS held (id, fence, claim, progress)
      WHERE t.tenant = ?
        AND t.id = held.id
        AND t.state = 'PENDING'
        AND t.fence = held.fence - 1
        AND t.lane = ANY (?)
      RETURNING t.id, held.claim, t.lease_until, t.cancel_requested
      """;

  // The reaper must check a shortened lease sooner. It notices an extended one at the old end.
  private static final String CHECK_SOONER =
      """
      /* LeaseRenewals.checkSooner */
      UPDATE carillon.claim c
      SET check_at = n.lease_until
      FROM unnest(?::uuid[], ?::timestamptz[]) AS n (claim, lease_until)
      WHERE c.id = ANY (?) -- with the join alone, the planner may read all of claim
        AND c.id = n.claim
        -- In a CASE, because the planner could otherwise read all of the index on check_at.
        AND CASE WHEN c.check_at > n.lease_until THEN true ELSE false END
      """;

  /**
   * Renews leases; the results are in the order of the renewals.
   *
   * @param lanes the lanes of the types that the caller may touch
   */
  static List<RenewResult> renew(
      Tx tx,
      TenantId tenant,
      List<Renewal> renewals,
      List<Integer> lanes,
      @Nullable Duration lease) {
    Map<TaskId, RenewResult> renewed = new HashMap<>();
    List<Map.Entry<UUID, Instant>> ends = new ArrayList<>();
    WorkerClaims.held(tx, tenant, renewals, Renewal::id, Renewal::lease)
        .forEach(
            (partition, some) ->
                renewed.putAll(renew(tx, tenant, partition, some, lanes, lease, ends)));
    if (!ends.isEmpty()) { // after the tasks of all partitions: see the lock order in Outcomes
      tx.update(
          CHECK_SOONER,
          Column.uuids(ends, Map.Entry::getKey),
          Column.instants(ends, Map.Entry::getValue),
          Column.uuids(ends, Map.Entry::getKey));
    }
    return renewals.stream()
        .map(renewal -> renewed.getOrDefault(renewal.id(), new RenewResult(Renewed.STALE, null)))
        .toList();
  }

  private static Map<TaskId, RenewResult> renew(
      Tx tx,
      TenantId tenant,
      Partition partition,
      List<Renewal> renewals,
      List<Integer> lanes,
      @Nullable Duration lease,
      List<Map.Entry<UUID, Instant>> ends) {
    List<Renewal> ordered = new ArrayList<>(renewals);
    ordered.sort(Comparator.comparing(renewal -> renewal.id().value()));
    Map<TaskId, RenewResult> renewed = new HashMap<>();
    SortedMap<UUID, Instant> first = new TreeMap<>();
    tx.query(
        Sql.forPartition(RENEW, partition),
        row -> {
          Instant end = Sql.requiredInstant(row, "lease_until");
          first.merge(Sql.uuid(row, "claim"), end, (a, b) -> a.isBefore(b) ? a : b);
          return renewed.put(
              new TaskId(Sql.uuid(row, "id")),
              new RenewResult(
                  row.getBoolean("cancel_requested") ? Renewed.CANCELLED : Renewed.RENEWED, end));
        },
        lease,
        TaskType.DEFAULT_LEASE,
        Column.uuids(ordered, renewal -> renewal.id().value()),
        Column.ints(ordered, renewal -> renewal.lease().fence()),
        Column.uuids(ordered, renewal -> renewal.lease().claim()),
        Column.texts(ordered, Renewal::progress),
        tenant,
        Column.ints(lanes, lane -> lane));
    ends.addAll(first.entrySet());
    return renewed;
  }
}
