package carillon.store.queue;

import static java.util.Comparator.naturalOrder;
import static java.util.Comparator.nullsFirst;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.Lease;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Completes tasks, the way nearly every task ends, with as little work as possible. Unless someone
 * other than the holder completed the task, neither the claim nor the completion is inserted as a
 * transition: the view every_transition reads both from the task's row.
 */
final class Completions {

  /**
   * Equal outcomes of one claim and tenant are updated by one index range scan instead of one
   * lookup each.
   */
  private static final String COMPLETE =
      """
      /* Completions.complete */
      WITH f AS MATERIALIZED ( -- skips claims that a failover has lost
          SELECT f.*, c.*
          FROM unnest(?::int[], ?::int[], ?::uuid[], ?::smallint[], ?::text[], ?::text[], ?::text[], ?::int[], ?::int[])
               AS f (tenant, fence, claim, status, output, progress, request, first, last)
          CROSS JOIN LATERAL (
              SELECT c.leased_by, c.started_at
              FROM carillon.claim c
              WHERE c.id = f.claim
              OFFSET 0 -- not a join, which may read all of claim, and under an old snapshot its dead rows
          ) c
      ), done AS (
          UPDATE carillon.task_{partition} t
          SET state = 'COMPLETED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 2, -- one of them for the claim, which does not write this row
              attempt = t.attempt + 1,
              fence = f.fence,
              leased_by = f.leased_by,
              lease_until = NULL,
              started_at = f.started_at,
              status = f.status,
              failure = NULL,
              error = NULL,
              output = f.output,
              request = f.request,
              progress = coalesce(f.progress, t.progress)
          FROM f
          WHERE t.tenant = f.tenant
            AND t.id = ANY ((?::uuid[])[f.first:f.last])
            AND t.state = 'PENDING'
            AND t.fence = f.fence - 1 -- the fence: a holder that lost its lease can no longer write
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence, t.leased_by, t.finished_at,
                    t.concurrency_key, t.on_complete
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who)
          SELECT tenant, id, partition, finished_at, 'RUNNING', 'COMPLETED', fence, ?
          FROM done
          WHERE leased_by <> ?
      ), keys AS (
          DELETE FROM carillon.running_key k
          USING done
          WHERE done.concurrency_key IS NOT NULL
            AND k.tenant = done.tenant
            AND k.type = (SELECT l.type FROM carillon.lane l WHERE l.id = done.lane)
            AND k.key = done.concurrency_key
            AND k.task = done.id
      )
      SELECT id, lane, attempt, concurrency_key IS NOT NULL AS keyed, on_complete AS callback
      FROM done
      """;

  private Completions() {}

  /** What the tasks of one index range scan have in common. */
  private record SameOutcome(
      TenantId tenant,
      Lease lease,
      @Nullable Integer status,
      @Nullable String output,
      @Nullable String progress,
      @Nullable String request) {

    /** The order in which groups of tasks are locked; within a group it is the order of the key. */
    static final Comparator<SameOutcome> LOCK_ORDER =
        Comparator.comparingInt((SameOutcome outcome) -> outcome.tenant().value())
            .thenComparing(outcome -> outcome.lease().claim())
            .thenComparingInt(outcome -> outcome.lease().fence())
            .thenComparing(SameOutcome::status, nullsFirst(naturalOrder()))
            .thenComparing(SameOutcome::output, nullsFirst(naturalOrder()))
            .thenComparing(SameOutcome::progress, nullsFirst(naturalOrder()))
            .thenComparing(SameOutcome::request, nullsFirst(naturalOrder()));

    static SameOutcome of(ClaimEnding ending) {
      return new SameOutcome(
          ending.tenant(),
          ending.lease(),
          ending.status(),
          ending.output(),
          ending.progress(),
          ending.request());
    }
  }

  /**
   * The tasks of one outcome: a slice of all task ids.
   *
   * @param first index of the first task, counted from 1 as in PostgreSQL
   */
  private record Slice(SameOutcome outcome, int first, int last) {}

  /** Completes the tasks that are still held under the given lease, and returns them. */
  static List<EndedTask> write(Tx tx, Partition partition, List<ClaimEnding> endings, String who) {
    if (endings.isEmpty()) {
      return List.of();
    }
    Map<SameOutcome, List<TaskId>> groups = new TreeMap<>(SameOutcome.LOCK_ORDER);
    for (ClaimEnding ending : endings) {
      groups.computeIfAbsent(SameOutcome.of(ending), _ -> new ArrayList<>()).add(ending.id());
    }
    List<TaskId> ids = new ArrayList<>(endings.size());
    List<Slice> slices = new ArrayList<>(groups.size());
    groups.forEach(
        (outcome, some) -> {
          slices.add(new Slice(outcome, ids.size() + 1, ids.size() + some.size()));
          ids.addAll(some);
        });
    return tx.query(
        Sql.forPartition(COMPLETE, partition),
        row -> done(row, partition),
        Column.ints(slices, each -> each.outcome().tenant().value()),
        Column.ints(slices, each -> each.outcome().lease().fence()),
        Column.uuids(slices, each -> each.outcome().lease().claim()),
        Column.shorts(slices, each -> each.outcome().status()),
        Column.texts(slices, each -> each.outcome().output()),
        Column.texts(slices, each -> each.outcome().progress()),
        Column.texts(slices, each -> each.outcome().request()),
        Column.ints(slices, Slice::first),
        Column.ints(slices, Slice::last),
        Column.uuids(ids, TaskId::value),
        who,
        who);
  }

  private static EndedTask done(ResultSet row, Partition partition) throws SQLException {
    return EndedTask.completed(
        new TaskId(Sql.uuid(row, "id")),
        partition,
        row.getInt("lane"),
        row.getInt("attempt"),
        row.getBoolean("keyed"),
        row.getString("callback"));
  }
}
