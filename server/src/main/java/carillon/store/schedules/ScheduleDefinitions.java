package carillon.store.schedules;

import carillon.model.TenantId;
import carillon.model.schedule.Schedule;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Writes the definition columns of a schedule. */
final class ScheduleDefinitions {

  private ScheduleDefinitions() {}

  private static final String DEFINITION =
      """
      cron, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit, catch_up_window_ms,
      jitter_ms, start_at, end_at, max_runs, pause_after_failures, type, key, priority, payload, target, retry,
      anchor\
      """;

  private static final String VALUES =
      """
      ?::text, ?::bigint, ?::text, ?::text, ?::text, ?::text, ?::text, ?::int, ?::bigint,
      ?::bigint, ?::timestamptz, ?::timestamptz, ?::int, ?::int, ?::text, ?::text, ?::smallint, ?::text, ?::jsonb,
      ?::jsonb, ?::timestamptz\
      """;

  private static List<@Nullable Object> values(Schedule schedule, Instant createdAt) {
    Schedule.TaskTemplate task = schedule.task();
    List<@Nullable Object> values = new ArrayList<>();
    values.add(schedule.cron());
    values.add(schedule.every());
    values.add(schedule.zone().getId());
    values.add(schedule.dst().gap().name());
    values.add(schedule.dst().overlap().name());
    values.add(schedule.overlap().name());
    values.add(schedule.catchUp().rule().name());
    values.add(schedule.catchUp().limit());
    values.add(schedule.catchUp().window());
    values.add(schedule.jitter());
    values.add(schedule.startAt());
    values.add(schedule.endAt());
    values.add(schedule.maxRuns());
    values.add(schedule.pauseAfterFailures());
    values.add(task.type());
    values.add(task.key());
    values.add(task.priority());
    values.add(task.payload());
    values.add(Sql.json(task.target()));
    values.add(Sql.json(task.retry()));
    Instant startAt = schedule.startAt();
    values.add(startAt == null ? createdAt.truncatedTo(ChronoUnit.SECONDS) : startAt);
    return values;
  }

  private static final String ADD =
      """
      /* ScheduleDefinitions.add */
      INSERT INTO carillon.schedule (
          %s, tenant, name, created_at, updated_at, cursor, plan_at, paused, paused_by, paused_at)
      VALUES (%s, ?, ?, ?, ?, ?, ?, ?, ?::text, ?::timestamptz)
      ON CONFLICT (tenant, name) DO NOTHING -- waits for a concurrent request that is creating it
      """
          .formatted(DEFINITION, VALUES);

  /** Returns false if the schedule exists. Times before now never fire, whatever its start. */
  static boolean add(Tx tx, TenantId tenant, Schedules.Wanted wanted, String actor, Instant now) {
    boolean paused = wanted.paused() != null && wanted.paused();
    List<@Nullable Object> values = values(wanted.schedule(), now);
    values.addAll(List.of(tenant, wanted.schedule().name(), now, now, now, now, paused));
    values.add(paused ? actor : null);
    values.add(paused ? now : null);
    return tx.update(ADD, values.toArray()) == 1;
  }

  private static final String REPLACE =
      """
      /* ScheduleDefinitions.replace */
      UPDATE carillon.schedule
      SET (%s) = (%s)
      WHERE id = ?
      """
          .formatted(DEFINITION, VALUES);

  /** The caller holds the lock of its row. */
  static void replace(Tx tx, StoredSchedule before, Schedule schedule) {
    List<@Nullable Object> values = values(schedule, before.createdAt());
    values.add(before.id());
    tx.update(REPLACE, values.toArray());
  }
}
