package carillon.store.stats;

import carillon.model.task.Counts;
import carillon.model.task.Counts.Kind;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Counts of what happened to tasks, by minute and by hour. */
public final class Activity {

  /** Stands for all tenants. */
  public static final int ALL_TENANTS = 0;

  /** Stands for all types of a tenant. */
  public static final String ALL_TYPES = "";

  static final Duration MINUTES_RETENTION = Duration.ofHours(25);
  static final Duration HOURS_RETENTION = Duration.ofDays(8);

  private final Db db;

  public Activity(Db db) {
    this.db = db;
  }

  /** The counts of one type of one tenant. */
  public record Row(int tenant, String type, Counts counts) {}

  // In a fixed order, so that two nodes never deadlock. Everything counts in the minute in which it
  // is written: it was committed at most seconds before.
  private static final String ADD =
      """
      /* Activity.add */
      INSERT INTO carillon.activity AS a (
          span, tenant, type, at, started, completed, retried, dead, cancelled, expired, late)
      SELECT s.span, n.tenant, n.type,
             date_bin(make_interval(mins => s.span), c.now, timestamptz '2000-01-01 00:00:00+00'),
             n.started, n.completed, n.retried, n.dead, n.cancelled, n.expired,
             (?::bigint[])[((n.n - 1) * 15 + 1)::int : (n.n * 15)::int]
      FROM (SELECT clock_timestamp() AS now) c
      CROSS JOIN (VALUES (1), (60)) AS s (span)
      CROSS JOIN unnest(?::int[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[])
           WITH ORDINALITY AS n (tenant, type, started, completed, retried, dead, cancelled, expired, n)
      ORDER BY s.span, n.tenant, n.type
      ON CONFLICT (span, tenant, type, at) DO UPDATE
      SET started = a.started + excluded.started,
          completed = a.completed + excluded.completed,
          retried = a.retried + excluded.retried,
          dead = a.dead + excluded.dead,
          cancelled = a.cancelled + excluded.cancelled,
          expired = a.expired + excluded.expired,
          late = ARRAY(SELECT u.x + u.y
                       FROM unnest(a.late, excluded.late) WITH ORDINALITY AS u (x, y, n)
                       ORDER BY u.n)
      """;

  /** Adds to the current minute and hour. Each tenant and type may occur only once. */
  public void add(Collection<Row> rows) {
    List<Long> late = new ArrayList<>();
    for (Row row : rows) {
      for (long number : row.counts().late()) {
        late.add(number);
      }
    }
    db.inTransaction(
        tx ->
            tx.update(
                ADD,
                Column.longs(late, number -> number),
                Column.ints(rows, Row::tenant),
                Column.texts(rows, Row::type),
                Column.longs(rows, row -> row.counts().of(Kind.STARTED)),
                Column.longs(rows, row -> row.counts().of(Kind.COMPLETED)),
                Column.longs(rows, row -> row.counts().of(Kind.RETRIED)),
                Column.longs(rows, row -> row.counts().of(Kind.DEAD)),
                Column.longs(rows, row -> row.counts().of(Kind.CANCELLED)),
                Column.longs(rows, row -> row.counts().of(Kind.EXPIRED))));
  }

  private static final String FORGET_MINUTES =
      """
      /* Activity.forgetOld */
      DELETE FROM carillon.activity
      WHERE ctid = ANY (ARRAY(
          SELECT ctid
          FROM carillon.activity
          WHERE span = 1
            AND at < (SELECT clock_timestamp() - make_interval(secs => ?))
          ORDER BY at
          LIMIT ?
      ))
      """;

  private static final String FORGET_HOURS = FORGET_MINUTES.replace("span = 1", "span = 60");

  /** Deletes minutes older than a day and hours older than a week; returns how many rows. */
  public int forgetOld(int limit) {
    return db.inTransaction(
        tx ->
            Math.max(
                tx.update(FORGET_MINUTES, Sql.seconds(MINUTES_RETENTION), limit),
                tx.update(FORGET_HOURS, Sql.seconds(HOURS_RETENTION), limit)));
  }
}
