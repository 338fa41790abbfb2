package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.LostHolder;
import carillon.model.task.Outcome;
import carillon.model.task.RetryPolicy;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * All claims, until they end. Finds and reaps those whose holder was lost: a node without a lease,
 * or a worker that neither reported nor renewed. Deletes the rows of claims that hold no more
 * tasks.
 */
public final class HeldClaims {

  private static final String WHO = "reaper";

  private final Db db;
  private final Catalog catalog;
  private final Outcomes outcomes;

  public HeldClaims(Db db, Catalog catalog, Outcomes outcomes) {
    this.db = db;
    this.catalog = catalog;
    this.outcomes = outcomes;
  }

  /**
   * A task that runs under a claim.
   *
   * @param isSent whether nodes deliver it over HTTP, in groups once it is a suspect: published and
   *     discarded tasks are never marked
   */
  public record Held(
      TenantId tenant,
      TaskId id,
      String type,
      Lease lease,
      int attempt,
      Instant dueAt,
      RetryPolicy retry,
      int crashes,
      boolean isSent) {}

  /**
   * A claim whose holder was lost.
   *
   * @param node the node whose lease must still have lapsed when the claim is reaped; null for a
   *     worker's claim, and for one that its own node does not know
   */
  public record Lost(UUID claim, @Nullable String node, Partition partition) {}

  private static final String LAPSED =
      """
      /* HeldClaims.lapsed */
      (SELECT c.id, c.node, c.partition
       FROM carillon.node n
       CROSS JOIN LATERAL (
           SELECT c.id, c.node, c.partition
           FROM carillon.claim c
           WHERE c.node = n.id
           OFFSET 0 -- not a join, which may read all of claim
       ) c
       WHERE n.lease_until < clock_timestamp()
       LIMIT ?)
      UNION ALL
      (SELECT c.id, c.node, c.partition
       FROM carillon.claim c
       WHERE c.check_at < (SELECT clock_timestamp())
       ORDER BY c.check_at
       LIMIT ?)
      """;

  /** Claims whose lease has lapsed, at most {@code limit} each of nodes and of workers. */
  public List<Lost> lapsed(int limit) {
    return db.autoCommit(tx -> tx.query(LAPSED, HeldClaims::lost, limit, limit));
  }

  private static Lost lost(ResultSet row) throws SQLException {
    return new Lost(
        Sql.uuid(row, "id"),
        row.getString("node"),
        new Partition(row.getObject("partition", LocalDate.class)));
  }

  private static final String WITHOUT_NODE =
      """
      /* HeldClaims.withoutNode */
      SELECT c.id, NULL AS node, c.partition
      FROM carillon.claim c
      WHERE c.node IS NOT NULL
        AND (SELECT true FROM carillon.node n WHERE n.id = c.node) IS NULL
      LIMIT ?
      """;

  /**
   * Claims of nodes that have no row: a failover lost it, or it was removed while a claim of the
   * frozen node was still open. Reads all claims.
   */
  public List<Lost> withoutNode(int limit) {
    return db.autoCommit(tx -> tx.query(WITHOUT_NODE, HeldClaims::lost, limit));
  }

  private static final String OF_NODE =
      """
      /* HeldClaims.ofNode */
      SELECT id, NULL AS node, partition
      FROM carillon.claim
      WHERE node = ?
      """;

  /** The claims of a node. If the node does not know one of them, its response was lost. */
  public List<Lost> ofNode(String node) {
    return db.autoCommit(tx -> tx.query(OF_NODE, HeldClaims::lost, node));
  }

  private static final String HELD =
      """
      /* HeldClaims.held */
      SELECT t.tenant, t.id, t.lane, t.fence + 1 AS fence, c.id AS claim, t.attempt + 1 AS attempt, t.due_at, t.retry,
             t.crashes
      FROM carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS held (tenant, id, fence)
      JOIN carillon.task_{partition} t ON t.tenant = held.tenant AND t.id = held.id
      WHERE c.id = ?
        AND t.state = 'PENDING'
        AND t.fence = held.fence - 1
        AND coalesce(t.lease_until, c.lease_until, '-infinity') < clock_timestamp()
      FOR UPDATE OF t SKIP LOCKED -- the transaction that has it locked ends or renews it
      """;

  Held held(ResultSet row) throws SQLException {
    Lane lane = catalog.lane(row.getInt("lane"));
    String retry = row.getString("retry");
    return new Held(
        lane.tenant(),
        new TaskId(Sql.uuid(row, "id")),
        lane.type(),
        new Lease(row.getInt("fence"), Sql.uuid(row, "claim")),
        row.getInt("attempt"),
        Sql.requiredInstant(row, "due_at"),
        retry == null ? catalog.type(lane).retry() : Json.retry(retry),
        row.getInt("crashes"),
        catalog.isSentNow(lane.id()));
  }

  private static final String STILL_LAPSED =
      """
      /* HeldClaims.stillLapsed */
      SELECT ending, suspects
      FROM carillon.node
      WHERE id = ?
        AND lease_until < clock_timestamp()
      FOR UPDATE -- a renewal that was just in time is waited for, and seen
      """;

  /**
   * The state recorded in the row of a lapsed node.
   *
   * @param suspects the suspects that it had started
   */
  private record Lapsed(LostHolder.Holder holder, List<UUID> suspects) {

    static final Lapsed NO_NODE = new Lapsed(LostHolder.Holder.SILENT, List.of());

    /**
     * Every task that had started shares the blame. A suspect has started if it is marked. Tasks
     * that are no suspects yet are blamed even if suspects ran next to them: otherwise a poison
     * task among them would stay unknown, and the suspects would die for its crashes.
     */
    LostHolder lostHolderFor(Held held) {
      if (holder == LostHolder.Holder.SILENT) {
        return LostHolder.UNEXPLAINED;
      }
      boolean begun = held.crashes() == 0 || !held.isSent() || suspects.contains(held.id().value());
      return new LostHolder(
          holder, begun, begun && held.isSent() && holder == LostHolder.Holder.DIED);
    }
  }

  private static Lapsed lapsed(ResultSet row) throws SQLException {
    String ending = row.getString("ending");
    return new Lapsed(
        ending == null ? LostHolder.Holder.DIED : LostHolder.Holder.valueOf(ending),
        Arrays.asList(Sql.uuids(row, "suspects")));
  }

  private static final String LOCK =
      """
      /* HeldClaims.lock */
      SELECT FROM carillon.claim
      WHERE id = ?
      FOR UPDATE
      """;

  private static final String STILL_RUNNING =
      """
      /* HeldClaims.stillRunning */
      SELECT count(*) AS tasks, min(coalesce(t.lease_until, c.lease_until)) AS lease_until
      FROM carillon.claim c
      CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS held (tenant, id, fence)
      JOIN carillon.task_{partition} t ON t.tenant = held.tenant AND t.id = held.id
      WHERE c.id = ?
        AND t.state = 'PENDING'
        AND t.fence = held.fence - 1
      """;

  private static final String CHECK_LATER =
      """
      /* HeldClaims.checkLater */
      UPDATE carillon.claim
      SET check_at = ?
      WHERE id = ?
      """;

  private static final String RETIRE =
      """
      /* HeldClaims.retire */
      DELETE FROM carillon.claim
      WHERE id = ?
      """;

  /**
   * Ends each task of a lost holder's claim as decided, unless the holder was faster. Keeps the
   * claim if one of its tasks was renewed meanwhile or is locked by another transaction: the next
   * pass decides about it.
   *
   * <p>Never waits for a task: a holder that comes back locks its tasks in another order, and then
   * its claim. The claim's own row is locked last: see the lock order in {@link Outcomes}.
   */
  public Outcomes.Written reap(Lost lost, BiFunction<Held, LostHolder, Outcome> decide) {
    return db.inTransaction(tx -> reap(tx, lost, decide));
  }

  public Outcomes.Written reap(Tx tx, Lost lost, BiFunction<Held, LostHolder, Outcome> decide) {
    Optional<Lapsed> node =
        lost.node() == null
            ? Optional.of(Lapsed.NO_NODE)
            : tx.queryOne(STILL_LAPSED, HeldClaims::lapsed, lost.node());
    if (node.isEmpty()) {
      return new Outcomes.Written(Map.of()); // the node has recovered
    }
    List<ClaimEnding> ends = new ArrayList<>();
    for (Held held : tx.query(Sql.forPartition(HELD, lost.partition()), this::held, lost.claim())) {
      LostHolder silence = node.get().lostHolderFor(held);
      ends.add(ClaimEnding.reaped(held, decide.apply(held, silence), silence.blamed()));
    }
    Outcomes.Written written = outcomes.finishLapsed(tx, ends, WHO);
    retireOrKeep(tx, lost);
    return written;
  }

  /** The tasks of a claim that are still running. */
  private record Left(int tasks, @Nullable Instant leaseUntil) {}

  private static void retireOrKeep(Tx tx, Lost lost) {
    tx.query(LOCK, _ -> true, lost.claim()); // otherwise a concurrent renewal could be overwritten
    Left left =
        tx.query(
                Sql.forPartition(STILL_RUNNING, lost.partition()),
                row -> new Left(row.getInt("tasks"), Sql.instant(row, "lease_until")),
                lost.claim())
            .getFirst();
    if (left.tasks() == 0) {
      tx.update(RETIRE, lost.claim());
    } else if (left.leaseUntil() != null) {
      tx.update(CHECK_LATER, left.leaseUntil(), lost.claim());
    }
  }

  private static final String RETIRE_OVER =
      """
      /* HeldClaims.retireOver */
      DELETE FROM carillon.claim c
      USING unnest(?::uuid[], ?::int[]) AS n (claim, ended)
      WHERE c.id = ANY (?) -- with the join alone, the planner may read all of claim
        AND c.id = n.claim
        AND (cardinality(c.tasks) = n.ended -- the whole of it at once
             OR NOT EXISTS (
                SELECT FROM unnest(c.tenants, c.tasks, c.fences) AS held (tenant, id, fence)
                JOIN carillon.task_{partition} t ON t.tenant = held.tenant AND t.id = held.id
                WHERE t.state = 'PENDING'
                  AND t.fence = held.fence - 1))
      """;

  /**
   * Deletes the claims of these tasks that hold no more tasks.
   *
   * @param hasEnded whether the task has ended in this transaction: a claim that ends as a whole
   *     needs no search for others
   */
  static <T> void retireOver(
      Tx tx,
      Collection<T> tasks,
      Function<T, TaskId> id,
      Function<T, Lease> lease,
      Predicate<T> hasEnded) {
    SortedMap<Partition, SortedMap<UUID, Integer>> ended = new TreeMap<>(); // as claims are locked
    for (T task : tasks) {
      ended
          .computeIfAbsent(id.apply(task).partition(), _ -> new TreeMap<>())
          .merge(lease.apply(task).claim(), hasEnded.test(task) ? 1 : 0, Integer::sum);
    }
    ended.forEach((partition, claims) -> retireOver(tx, partition, claims));
  }

  private static void retireOver(Tx tx, Partition partition, SortedMap<UUID, Integer> ended) {
    List<Map.Entry<UUID, Integer>> claims = List.copyOf(ended.entrySet());
    tx.update(
        Sql.forPartition(RETIRE_OVER, partition),
        Column.uuids(claims, Map.Entry::getKey),
        Column.ints(claims, Map.Entry::getValue),
        Column.uuids(claims, Map.Entry::getKey));
  }
}
