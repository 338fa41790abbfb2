package carillon.store.schedules;

import carillon.model.TenantId;
import carillon.model.cron.DstRule;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.model.schedule.SkipReason;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.ZoneId;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads a schedule from its row. */
final class ScheduleRows {

  static final String COLUMNS =
      """
      id, tenant, name, cron, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
      catch_up_window_ms, jitter_ms, start_at, end_at, max_runs, pause_after_failures, type, key, priority, payload,
      target, retry, paused, paused_reason, paused_by, paused_at, version, created_at, updated_at, anchor, generation,
      cursor, plan_at, runs, completed, failed, cancelled, failures_in_a_row, skipped_overlap, skipped_paused,
      skipped_window, skipped_dst_gap, skipped_ended\
      """;

  private ScheduleRows() {}

  /** The column that counts the times skipped for this reason. */
  static String counter(SkipReason reason) {
    return switch (reason) {
      case OVERLAP -> "skipped_overlap";
      case PAUSED -> "skipped_paused";
      case WINDOW -> "skipped_window";
      case DST_GAP -> "skipped_dst_gap";
      case ENDED -> "skipped_ended";
    };
  }

  static StoredSchedule read(ResultSet row) throws SQLException {
    return new StoredSchedule(
        row.getLong("id"),
        new TenantId(row.getInt("tenant")),
        schedule(row),
        row.getInt("version"),
        Sql.requiredInstant(row, "created_at"),
        Sql.requiredInstant(row, "updated_at"),
        pause(row),
        Sql.requiredInstant(row, "anchor"),
        row.getInt("generation"),
        Sql.requiredInstant(row, "cursor"),
        Sql.instant(row, "plan_at"),
        counters(row));
  }

  private static Schedule schedule(ResultSet row) throws SQLException {
    return new Schedule(
        row.getString("name"),
        row.getString("cron"),
        millis(row, "every_ms"),
        ZoneId.of(row.getString("timezone")),
        new DstRule(
            DstRule.Gap.valueOf(row.getString("dst_gap")),
            DstRule.Overlap.valueOf(row.getString("dst_overlap"))),
        OverlapRule.valueOf(row.getString("overlap")),
        new CatchUp(
            CatchUp.Rule.valueOf(row.getString("catch_up")),
            row.getInt("catch_up_limit"),
            Duration.ofMillis(row.getLong("catch_up_window_ms"))),
        Duration.ofMillis(row.getLong("jitter_ms")),
        Sql.instant(row, "start_at"),
        Sql.instant(row, "end_at"),
        Sql.integer(row, "max_runs"),
        Sql.integer(row, "pause_after_failures"),
        taskTemplate(row));
  }

  private static Schedule.TaskTemplate taskTemplate(ResultSet row) throws SQLException {
    String target = row.getString("target");
    String retry = row.getString("retry");
    return new Schedule.TaskTemplate(
        row.getString("type"),
        row.getString("key"),
        Sql.integer(row, "priority"),
        row.getString("payload"),
        target == null ? null : Json.target(target),
        retry == null ? null : Json.retry(retry));
  }

  private static StoredSchedule.@Nullable Pause pause(ResultSet row) throws SQLException {
    return row.getBoolean("paused")
        ? new StoredSchedule.Pause(
            row.getString("paused_reason"),
            row.getString("paused_by"),
            Sql.instant(row, "paused_at"))
        : null;
  }

  private static StoredSchedule.Counters counters(ResultSet row) throws SQLException {
    Map<SkipReason, Long> skipped = new EnumMap<>(SkipReason.class);
    for (SkipReason reason : SkipReason.values()) {
      skipped.put(reason, row.getLong(counter(reason)));
    }
    return new StoredSchedule.Counters(
        row.getLong("runs"),
        row.getLong("completed"),
        row.getLong("failed"),
        row.getLong("cancelled"),
        row.getInt("failures_in_a_row"),
        skipped);
  }

  private static @Nullable Duration millis(ResultSet row, String column) throws SQLException {
    long millis = row.getLong(column);
    return row.wasNull() ? null : Duration.ofMillis(millis);
  }
}
