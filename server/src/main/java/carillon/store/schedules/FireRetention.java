package carillon.store.schedules;

import carillon.store.db.Column;
import carillon.store.db.Db;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Deletes old fires, and those of deleted schedules. */
public final class FireRetention {

  /** Schedules that one pass checks for being deleted. */
  private static final int SCHEDULES_PER_PASS = 1_000;

  private final Db db;
  private final AtomicLong checkedUpTo = new AtomicLong(Long.MIN_VALUE);

  public FireRetention(Db db) {
    this.db = db;
  }

  // By ctid: a join could become a scan of all fires. The last condition is checked again under the
  // row lock, because a backfill may just have created a task for a skipped time.
  static final String FORGET =
      """
      /* FireRetention.forgetOld */
      DELETE FROM carillon.schedule_fire
      WHERE ctid = ANY (ARRAY(
                SELECT f.ctid
                FROM carillon.schedule_fire f
                WHERE f.recorded_at < (SELECT clock_timestamp() - ?::bigint * interval '1 millisecond')
                  AND (f.task IS NULL
                       OR f.outcome IS NOT NULL
                       OR NOT EXISTS (SELECT FROM carillon.schedule s WHERE s.id = f.schedule))
                ORDER BY f.recorded_at
                LIMIT ?))
        AND recorded_at < clock_timestamp() - ?::bigint * interval '1 millisecond'
      """;

  /**
   * Deletes fires recorded longer ago than this; those of existing schedules only once they are
   * settled. Returns their number.
   */
  public int forgetOld(Duration retention, int limit) {
    return db.inTransaction(tx -> tx.update(FORGET, retention, limit, retention));
  }

  // A loose index scan: one index lookup per schedule, however many fires each has.
  static final String SCHEDULES =
      """
      /* FireRetention.schedules */
      WITH RECURSIVE known AS (
          (SELECT f.schedule
           FROM carillon.schedule_fire f
           WHERE f.schedule > ?
           ORDER BY f.schedule
           LIMIT 1)
          UNION ALL
          SELECT next.schedule
          FROM known
          CROSS JOIN LATERAL (
              SELECT f.schedule
              FROM carillon.schedule_fire f
              WHERE f.schedule > known.schedule
              ORDER BY f.schedule
              LIMIT 1
          ) next
      )
      SELECT k.schedule, EXISTS (SELECT FROM carillon.schedule s WHERE s.id = k.schedule) AS is_live
      FROM (SELECT schedule FROM known LIMIT ?) k
      """;

  static final String FORGET_OF =
      """
      /* FireRetention.forgetOf */
      DELETE FROM carillon.schedule_fire
      WHERE ctid = ANY (ARRAY(
          SELECT f.place
          FROM unnest(?::bigint[]) AS gone (schedule)
          CROSS JOIN LATERAL (
              SELECT f.ctid AS place
              FROM carillon.schedule_fire f
              WHERE f.schedule = gone.schedule
              LIMIT ?
          ) f
          LIMIT ?))
      """;

  private record Known(long schedule, boolean isLive) {}

  /**
   * Deletes fires of deleted schedules and returns their number. Each call checks the schedules
   * after those of the previous call, and starts over at the end.
   */
  public int forgetDeleted(int limit) {
    return db.inTransaction(
        tx -> {
          List<Known> known =
              tx.query(
                  SCHEDULES,
                  row -> new Known(row.getLong("schedule"), row.getBoolean("is_live")),
                  checkedUpTo.get(),
                  SCHEDULES_PER_PASS);
          List<Known> deleted = known.stream().filter(each -> !each.isLive()).toList();
          int fires =
              deleted.isEmpty()
                  ? 0
                  : tx.update(FORGET_OF, Column.longs(deleted, Known::schedule), limit, limit);
          boolean hasMore = fires == limit; // then check the same schedules again
          long next =
              known.size() < SCHEDULES_PER_PASS ? Long.MIN_VALUE : known.getLast().schedule();
          tx.afterCommit(() -> checkedUpTo.set(hasMore ? checkedUpTo.get() : next));
          return fires;
        });
  }
}
