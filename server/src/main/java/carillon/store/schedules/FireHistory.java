package carillon.store.schedules;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.SkipReason;
import carillon.store.db.Column;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the recorded fires of schedules. Every query reads a bounded number of fires, however many
 * there are and however few match.
 */
final class FireHistory {

  /** A page ends early after reading this many fires. */
  static final int MAX_READ_PER_PAGE = 10_000;

  /** The latest run and the latest outcome are searched among this many fires. */
  private static final int MAX_READ_FOR_LATEST = 1_000;

  private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");

  private FireHistory() {}

  // OFFSET 0 is an optimization fence: each task is looked up, while a join may read all tasks of
  // the tenant.
  private static final String WITH_TASK =
      """
      LEFT JOIN LATERAL (
          SELECT state
          FROM carillon.every_task
          WHERE tenant = ?
            AND id = f.task
            AND partition = f.partition
          OFFSET 0
      ) t ON true\
      """;

  // The last fire that the inner query reads is always returned, because the next page continues
  // there.
  private static final String PAGE =
      """
      /* FireHistory.list */
      SELECT f.*, coalesce(t.state::text, f.outcome) AS status
      FROM (
          SELECT f.*, {outcome} AS matches, row_number() OVER (ORDER BY f.at DESC, f.local DESC) = ? AS is_end
          FROM (
              SELECT at, local, shift, kind, skipped, task, partition, outcome, recorded_at
              FROM carillon.schedule_fire
              WHERE schedule = ?
                AND at >= ?
                AND at <= ?
                AND (at, local) < (?, ?)
              ORDER BY at DESC, local DESC
              LIMIT ?
          ) f
      ) f
      %s
      WHERE f.matches OR f.is_end
      ORDER BY f.at DESC, f.local DESC
      LIMIT ?
      """
          .formatted(WITH_TASK);

  static final String PAGE_OF_ALL = PAGE.replace("{outcome}", "true");
  static final String PAGE_OF_TASKS = PAGE.replace("{outcome}", "f.task IS NOT NULL");
  static final String PAGE_OF_SKIPPED = PAGE.replace("{outcome}", "f.task IS NULL");

  private record Row(RecordedFire fire, boolean matches, boolean isEnd) {}

  /** Newest first. */
  static Page<RecordedFire, RecordedFire.Position> list(
      Tx tx,
      StoredSchedule schedule,
      RecordedFire.Filter filter,
      int limit,
      RecordedFire.@Nullable Position before) {
    int maxRead = filter.hasTask() == null ? limit + 1 : Math.max(MAX_READ_PER_PAGE, limit);
    RecordedFire.Position end = before == null ? RecordedFire.Position.END : before;
    List<Row> rows =
        tx.query(
            page(filter.hasTask()),
            row -> new Row(fire(row), row.getBoolean("matches"), row.getBoolean("is_end")),
            maxRead,
            schedule.id(),
            filter.from() == null ? FIRST : filter.from(),
            filter.to() == null ? RecordedFire.Position.END.at() : filter.to(),
            end.at(),
            end.local(),
            maxRead,
            schedule.tenant(),
            limit + 1);
    List<RecordedFire> fires = new ArrayList<>();
    for (Row each : rows) {
      if (each.matches() && fires.size() == limit) {
        return new Page<>(fires, fires.getLast().position());
      }
      if (each.matches()) {
        fires.add(each.fire());
      }
      if (each.isEnd()) {
        return new Page<>(fires, each.fire().position());
      }
    }
    return new Page<>(fires, null);
  }

  private static String page(@Nullable Boolean hasTask) {
    if (hasTask == null) {
      return PAGE_OF_ALL;
    }
    return hasTask ? PAGE_OF_TASKS : PAGE_OF_SKIPPED;
  }

  private static final String LATEST =
      """
      /* FireHistory.{method} */
      SELECT f.*, {status} AS status
      FROM (
          SELECT at, local, shift, kind, skipped, task, partition, outcome, recorded_at
          FROM carillon.schedule_fire
          WHERE schedule = ?
            AND at <= ?
          ORDER BY at DESC, local DESC
          LIMIT ?
      ) f
      %s
      WHERE {wanted}
      ORDER BY f.at DESC, f.local DESC
      LIMIT 1
      """
          .formatted(WITH_TASK);

  static final String LAST_RUN =
      LATEST
          .replace("{method}", "lastRun")
          .replace("{status}", "coalesce(t.state::text, f.outcome)")
          .replace("{wanted}", "f.task IS NOT NULL");

  // A redriven task keeps its earlier outcome until it ends again. The end of the schedule itself
  // (ENDED) is not an outcome.
  static final String PREVIOUS =
      LATEST
          .replace("{method}", "previousOutcome")
          .replace("carillon.every_task", "carillon.task") // only whether it has ended matters
          .replace(
              "{status}",
              "CASE WHEN f.skipped IS NOT NULL THEN 'SKIPPED'"
                  + " WHEN t.state = 'PENDING' THEN f.outcome"
                  + " ELSE coalesce(t.state::text, f.outcome) END")
          .replace(
              "{wanted}", "f.skipped <> 'ENDED' OR f.outcome <> 'GONE' OR t.state <> 'PENDING'");

  /** The schedule with the latest of its fires that are due by now. */
  static ScheduleView show(Tx tx, StoredSchedule schedule, Instant now) {
    RecordedFire lastRun = latest(tx, LAST_RUN, schedule, now);
    RecordedFire previous = latest(tx, PREVIOUS, schedule, now);
    return new ScheduleView(schedule, lastRun, previous == null ? null : previous.status());
  }

  private static @Nullable RecordedFire latest(
      Tx tx, String statement, StoredSchedule schedule, Instant now) {
    return tx.queryOne(
            statement,
            FireHistory::fire,
            schedule.id(),
            now,
            MAX_READ_FOR_LATEST,
            schedule.tenant())
        .orElse(null);
  }

  private static final String NEWEST =
      """
      /* FireHistory.newest */
      SELECT s.id AS schedule, f.*, coalesce(t.state::text, f.outcome) AS status
      FROM unnest(?::bigint[]) AS s (id)
      CROSS JOIN LATERAL (
          SELECT at, local, shift, kind, skipped, task, partition, outcome, recorded_at
          FROM carillon.schedule_fire
          WHERE schedule = s.id
          ORDER BY at DESC, local DESC
          LIMIT ?
      ) f
      %s
      ORDER BY s.id, f.at DESC, f.local DESC
      """
          .formatted(WITH_TASK);

  private record Newest(long schedule, RecordedFire fire) {}

  /** The newest fires of several schedules of one tenant, by schedule id. */
  static Map<Long, List<RecordedFire>> newest(
      Tx tx, TenantId tenant, List<StoredSchedule> schedules, int count) {
    return tx
        .query(
            NEWEST,
            row -> new Newest(row.getLong("schedule"), fire(row)),
            Column.longs(schedules, StoredSchedule::id),
            count,
            tenant)
        .stream()
        .collect(groupingBy(Newest::schedule, mapping(Newest::fire, toList())));
  }

  private static RecordedFire fire(ResultSet row) throws SQLException {
    String skipped = row.getString("skipped");
    return new RecordedFire(
        new NominalTime(
            Sql.requiredInstant(row, "at"),
            row.getObject("local", LocalDateTime.class),
            NominalTime.Shift.valueOf(row.getString("shift"))),
        RecordedFire.Kind.valueOf(row.getString("kind")),
        skipped == null ? null : SkipReason.valueOf(skipped),
        row.getString("task") == null ? null : new TaskId(Sql.uuid(row, "task")),
        row.getString("status"),
        Sql.requiredInstant(row, "recorded_at"));
  }
}
