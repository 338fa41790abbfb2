package carillon.store.schedules;

import carillon.store.db.Column;
import carillon.store.db.Db;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Forgets fires that nobody asks for any more: old ones, and those of deleted schedules. */
public final class FireRetention {

  /** How many schedules one pass looks at to find those that were deleted. */
  private static final int REACH = 1_000;

  private final Db db;
  private final AtomicLong lookedAt = new AtomicLong(Long.MIN_VALUE);

  public FireRetention(Db db) {
    this.db = db;
  }

  // By their place in the table: a join could be turned round into a walk over all fires. Looked at
  // again under the row's lock, because a backfill may just have made a task of what was skipped.
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
   * Forgets fires that were recorded longer ago than this; those of live schedules only once it is
   * known how their tasks ended. Says how many.
   */
  public int forgetOld(Duration retention, int limit) {
    return db.inTransaction(tx -> tx.update(FORGET, retention, limit, retention));
  }

  // Jumps from schedule to schedule in the index, however many fires each has.
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
   * Forgets the fires of some schedules that were deleted; says how many. Each call looks at the
   * schedules after those that the call before looked at, and from the first again in the end.
   */
  public int forgetDeleted(int limit) {
    return db.inTransaction(
        tx -> {
          List<Known> known =
              tx.query(
                  SCHEDULES,
                  row -> new Known(row.getLong("schedule"), row.getBoolean("is_live")),
                  lookedAt.get(),
                  REACH);
          List<Known> deleted = known.stream().filter(each -> !each.isLive()).toList();
          int forgotten =
              deleted.isEmpty()
                  ? 0
                  : tx.update(FORGET_OF, Column.longs(deleted, Known::schedule), limit, limit);
          boolean isMore = forgotten == limit; // come back to the same ones
          long next = known.size() < REACH ? Long.MIN_VALUE : known.getLast().schedule();
          tx.afterCommit(() -> lookedAt.set(isMore ? lookedAt.get() : next));
          return forgotten;
        });
  }
}
