package carillon.store.stats;

import carillon.model.TenantId;
import carillon.model.task.Counts;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Reads what happened to tasks in the last minute, hour and day. */
public final class ActivityReader {

  private static final int MINUTES = 1;
  private static final int HOURS = 60;
  private static final int MAX_RANGES = 1_000;

  private final Db db;

  public ActivityReader(Db db) {
    this.db = db;
  }

  /**
   * The tasks that are counted.
   *
   * @param type {@link Activity#ALL_TYPES} for all of the tenant's
   */
  public record Of(int tenant, String type) {

    public static final Of ALL = new Of(Activity.ALL_TENANTS, Activity.ALL_TYPES);

    public static Of tenant(TenantId tenant) {
      return new Of(tenant.value(), Activity.ALL_TYPES);
    }

    public static Of type(TenantId tenant, String type) {
      return new Of(tenant.value(), type);
    }
  }

  /** What happened in a period. */
  public record Since(Instant from, Instant until, Counts counts) {

    /** The sum of both, from the earlier start to the later end. */
    public Since and(Since other) {
      Counts sum = new Counts();
      sum.add(counts);
      sum.add(other.counts);
      return new Since(
          from.isBefore(other.from) ? from : other.from,
          until.isAfter(other.until) ? until : other.until,
          sum);
    }
  }

  /**
   * Recent activity.
   *
   * @param now the current minute
   * @param minute the last sixty seconds, estimated: the current minute and a share of the one
   *     before
   */
  public record Lately(Since now, Since minute, Since hour, Since day) {

    /** No activity, at a time. */
    public static Lately none(Instant at) {
      Since none = new Since(at, at, new Counts());
      return new Lately(none, none, none, none);
    }

    public Lately and(Lately other) {
      return new Lately(
          now.and(other.now), minute.and(other.minute), hour.and(other.hour), day.and(other.day));
    }
  }

  /** A range of rows to add up. */
  private record Range(Of of, int span, Instant from, Instant until) {}

  private static final String SUMS =
      """
      ARRAY[coalesce(sum(a.started), 0), coalesce(sum(a.completed), 0), coalesce(sum(a.retried), 0),
            coalesce(sum(a.dead), 0), coalesce(sum(a.cancelled), 0), coalesce(sum(a.expired), 0),
            %s]::bigint[]
      """
          .strip()
          .formatted(
              IntStream.rangeClosed(1, 15)
                  .mapToObj("coalesce(sum(a.late[%d]), 0)"::formatted)
                  .collect(Collectors.joining(", ")));

  private static final String ADD_UP =
      """
      /* ActivityReader.addUp */
      SELECT n.n, s.counts
      FROM unnest(?::smallint[], ?::int[], ?::text[], ?::timestamptz[], ?::timestamptz[])
           WITH ORDINALITY AS n (span, tenant, type, since, until, n)
      CROSS JOIN LATERAL (
          SELECT %s AS counts
          FROM carillon.activity a
          WHERE a.span = n.span
            AND a.tenant = n.tenant
            AND a.type = n.type
            AND a.at >= n.since
            AND a.at < n.until
      ) s
      ORDER BY n.n
      """
          .formatted(SUMS);

  /** In several statements, so that none is near the statement timeout with many types. */
  private List<Counts> addUp(List<Range> ranges) {
    List<Counts> sums = new ArrayList<>();
    for (int from = 0; from < ranges.size(); from += MAX_RANGES) {
      sums.addAll(addUpOnce(ranges.subList(from, Math.min(from + MAX_RANGES, ranges.size()))));
    }
    return sums;
  }

  private List<Counts> addUpOnce(List<Range> ranges) {
    return db.autoCommit(
        tx ->
            tx.query(
                ADD_UP,
                row -> Counts.of(Sql.longs(row, "counts")),
                Column.shorts(ranges, Range::span),
                Column.ints(ranges, range -> range.of().tenant()),
                Column.texts(ranges, range -> range.of().type()),
                Column.instants(ranges, Range::from),
                Column.instants(ranges, Range::until)));
  }

  /** Recent activity of each; reads five ranges of the primary key. */
  public Map<Of, Lately> lately(Collection<Of> all, Instant now) {
    Instant minute = now.truncatedTo(ChronoUnit.MINUTES);
    Instant before = minute.minus(1, ChronoUnit.MINUTES);
    Instant hour = hourBefore(now);
    Instant day = minute.minus(24 * 60 - 1, ChronoUnit.MINUTES);
    Instant firstHour = day.truncatedTo(ChronoUnit.HOURS).plus(1, ChronoUnit.HOURS);
    Instant end = now.plus(1, ChronoUnit.DAYS); // clocks of other nodes may be ahead
    List<Of> order = List.copyOf(all);
    List<Range> ranges = new ArrayList<>();
    for (Of of : order) {
      ranges.add(new Range(of, MINUTES, minute, end));
      ranges.add(new Range(of, MINUTES, before, minute));
      ranges.add(new Range(of, MINUTES, hour, end));
      ranges.add(new Range(of, MINUTES, day, firstHour));
      ranges.add(new Range(of, HOURS, firstHour, end));
    }
    List<Counts> sums = addUp(ranges);
    double gone = Duration.between(minute, now).toMillis() / 60_000.0;
    Map<Of, Lately> lately = new HashMap<>();
    for (int i = 0; i < order.size(); i++) {
      List<Counts> sum = sums.subList(5 * i, 5 * i + 5);
      Since current = new Since(minute, now, sum.get(0));
      Since last = new Since(now.minusSeconds(60), now, sum.get(1).share(1 - gone)).and(current);
      lately.put(
          order.get(i),
          new Lately(
              current,
              last,
              new Since(hour, now, sum.get(2)),
              new Since(day, now, sum.get(3)).and(new Since(firstHour, now, sum.get(4)))));
    }
    return lately;
  }

  /** The last hour of each. */
  public Map<Of, Since> hours(Collection<Of> all, Instant now) {
    Instant hour = hourBefore(now);
    Instant end = now.plus(1, ChronoUnit.DAYS);
    List<Of> order = List.copyOf(all);
    List<Counts> sums = addUp(order.stream().map(of -> new Range(of, MINUTES, hour, end)).toList());
    Map<Of, Since> hours = new HashMap<>();
    for (int i = 0; i < order.size(); i++) {
      hours.put(order.get(i), new Since(hour, now, sums.get(i)));
    }
    return hours;
  }

  /** The start of the hour that ends with the current minute. */
  private static Instant hourBefore(Instant now) {
    return now.truncatedTo(ChronoUnit.MINUTES).minus(59, ChronoUnit.MINUTES);
  }

  private static final String SERIES =
      """
      /* ActivityReader.series */
      SELECT date_bin(make_interval(secs => ?), a.at, ?) AS since, %s AS counts
      FROM carillon.activity a
      WHERE a.span = ? -- a parameter, or the planner would use the janitor's index
        AND a.tenant = ?
        AND a.type = ANY (?)
        AND a.at >= ?
      GROUP BY 1
      ORDER BY 1
      """
          .formatted(SUMS);

  /**
   * Activity in steps until now, including steps in which nothing happened.
   *
   * @param types {@link Activity#ALL_TYPES} alone for all
   * @param step whole minutes; the first step begins at a multiple of it
   */
  public List<Since> series(
      TenantId tenant, Collection<String> types, Instant from, Instant now, Duration step) {
    Map<Instant, Counts> found = new HashMap<>();
    db.autoCommit(
        tx ->
            tx.query(
                SERIES,
                row ->
                    found.put(
                        Sql.requiredInstant(row, "since"), Counts.of(Sql.longs(row, "counts"))),
                Sql.seconds(step),
                from,
                MINUTES,
                tenant,
                Column.texts(types, type -> type),
                from));
    List<Since> series = new ArrayList<>();
    for (Instant at = from; !at.isAfter(now); at = at.plus(step)) {
      Instant end = at.plus(step);
      series.add(new Since(at, end.isAfter(now) ? now : end, found.getOrDefault(at, new Counts())));
    }
    return series;
  }
}
