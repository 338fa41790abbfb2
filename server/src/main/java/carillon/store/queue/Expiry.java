package carillon.store.queue;

import static java.util.stream.Collectors.joining;

import carillon.model.Partition;
import carillon.model.task.TaskState;
import carillon.store.catalog.Partitions;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Transitions;
import carillon.store.db.Tx;
import java.time.LocalDate;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Ends tasks that were not started in time, and tasks cancelled in SQL while they ran. */
public final class Expiry {

  private static final int PASSES_PER_FULL_PASS = 10;

  /** Partitions per statement: the statement locks all of them. */
  private static final int MAX_PARTITIONS = 16;

  private final Db db;
  private final Partitions partitions;
  private final AtomicInteger passes = new AtomicInteger();

  public Expiry(Db db, Partitions partitions) {
    this.db = db;
    this.partitions = partitions;
  }

  private static final String EXPIRE =
      """
      /* Expiry.expire */
      WITH late AS MATERIALIZED (
          SELECT q.tenant, q.row_id
          FROM (
              SELECT l.tenant, q.id, q.ctid AS row_id
              FROM carillon.queue_{partition} q
              CROSS JOIN LATERAL (
                  SELECT l.tenant
                  FROM carillon.lane l
                  WHERE l.id = q.lane
                  LIMIT 1
              ) l
              WHERE q.expires_at <= (SELECT clock_timestamp())
              ORDER BY q.expires_at
              LIMIT ?
              FOR UPDATE OF q SKIP LOCKED
          ) q
          CROSS JOIN LATERAL ( -- not a join: the planner may choose to read all tasks of a tenant
              SELECT
              FROM carillon.task_{partition} t
              WHERE t.tenant = q.tenant
                AND t.id = q.id
              FOR UPDATE SKIP LOCKED -- others lock the task first, and may wait for its row of the queue
          ) t
      ), taken AS (
          -- A row that changed between snapshot and lock is not found. The next pass takes it.
          DELETE FROM carillon.queue_{partition} q
          USING late
          WHERE q.ctid = late.row_id
          RETURNING late.tenant, q.id
      ), expired AS (
          UPDATE carillon.task_{partition} t
          SET state = 'EXPIRED',
              ready_at = NULL,
              finished_at = clock_timestamp(),
              version = t.version + 1
          FROM taken
          WHERE t.tenant = taken.tenant
            AND t.id = taken.id
            AND t.state = 'PENDING'
          RETURNING t.tenant, t.id, t.partition, t.lane, t.attempt, t.fence
      ), trail AS (
          INSERT INTO carillon.transition_{partition} (tenant, task, partition, at, from_state, to_state, fence, who)
          SELECT tenant, id, partition, clock_timestamp(), 'PENDING', 'EXPIRED', fence, 'carillon'
          FROM expired
      )
      SELECT id, lane, attempt
      FROM expired
      """;

  // Reads the parent table, so that one query finds the partitions with late tasks. The days are
  // literals: the planner leaves out all other partitions before they are locked.
  private static final String LATE_PARTITIONS =
      """
      /* Expiry.latePartitions */
      SELECT DISTINCT partition
      FROM (
          SELECT partition
          FROM carillon.queue
          WHERE partition = ANY ('{{days}}'::date[])
            AND expires_at <= (SELECT clock_timestamp())
          ORDER BY expires_at
          LIMIT ?
      ) late
      """;

  /**
   * Makes the planner use the index on expires_at. If the queue was empty when statistics were
   * taken, it prefers to read the whole queue and sort it.
   */
  private static final String USE_EXPIRY_INDEX =
      """
      /* Expiry.useExpiryIndex */
      SET LOCAL enable_sort = off
      """;

  /**
   * Expires tasks in all lanes and returns how many. No task expires before it is due, so only open
   * partitions are read, and most of those before yesterday only in every tenth pass.
   */
  public int expireDue(int limit) {
    List<Partition> open = partitions.openNow(passes.getAndIncrement() % PASSES_PER_FULL_PASS == 0);
    int expired = 0;
    for (int from = 0; from < open.size(); from += MAX_PARTITIONS) {
      List<Partition> next = open.subList(from, Math.min(open.size(), from + MAX_PARTITIONS));
      for (Partition partition : db.inTransaction(tx -> latePartitions(tx, next, limit))) {
        expired += db.inTransaction(tx -> expire(tx, partition, limit));
      }
    }
    return expired;
  }

  private static List<Partition> latePartitions(Tx tx, List<Partition> partitions, int limit) {
    tx.update(USE_EXPIRY_INDEX);
    String days =
        partitions.stream().map(partition -> partition.day().toString()).collect(joining(","));
    return tx.query(
        LATE_PARTITIONS.replace("{days}", days),
        row -> new Partition(row.getObject("partition", LocalDate.class)),
        limit);
  }

  /** Expires tasks of one partition and returns how many. */
  public static int expire(Tx tx, Partition partition, int limit) {
    tx.update(USE_EXPIRY_INDEX);
    List<Transitions.Moved> expired =
        tx.query(
            Sql.forPartition(EXPIRE, partition),
            row -> Sql.moved(row, TaskState.PENDING, TaskState.EXPIRED),
            limit);
    tx.moved(expired);
    return expired.size();
  }

  /** Cancels tasks whose cancel was requested in SQL while they ran; returns the request count. */
  public int applyCancelRequests(int limit) {
    return db.inTransaction(tx -> applyCancelRequests(tx, limit));
  }

  public static int applyCancelRequests(Tx tx, int limit) {
    return CancelRequests.apply(tx, limit);
  }
}
