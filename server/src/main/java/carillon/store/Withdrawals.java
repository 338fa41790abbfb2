package carillon.store;

import carillon.model.SkipReason;
import carillon.model.TaskId;
import carillon.model.TenantId;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Takes back what was planned for a schedule and is not due yet, because the schedule changes. The
 * caller holds the lock of the schedule's row. What was started ahead of its time, or cancelled by
 * somebody, keeps its fire, so that its nominal time is not planned again.
 */
final class Withdrawals {

  private Withdrawals() {}

  /** A fire that is not due yet: its task, or why it was skipped ahead of time. */
  private record Planned(@Nullable TaskId task, @Nullable SkipReason skipped) {}

  private static final String PLANNED =
      """
      /* Withdrawals.planned */
      SELECT task
      FROM carillon.schedule_fire
      WHERE schedule = ?
        AND at > ?
        AND kind = 'SCHEDULED'
        AND task IS NOT NULL
        AND outcome IS NULL
      """;

  private static final String FORGET =
      """
      /* Withdrawals.forget */
      DELETE FROM carillon.schedule_fire
      WHERE schedule = ?
        AND at > ?
        AND kind = 'SCHEDULED'
        AND (skipped IS NOT NULL OR task = ANY (?))
      RETURNING task, skipped
      """;

  private static final String GO_BACK =
      """
      /* Withdrawals.goBack */
      UPDATE carillon.schedule
      SET cursor = least(cursor, ?),
          generation = generation + 1,
          plan_at = ?,
          runs = runs - ?,
          skipped_overlap = skipped_overlap - ?,
          skipped_paused = skipped_paused - ?,
          skipped_window = skipped_window - ?,
          skipped_dst_gap = skipped_dst_gap - ?,
          skipped_ended = skipped_ended - ?
      WHERE id = ?
      """;

  /**
   * Cancels the tasks of nominal times after {@code now} that have not started, and forgets their
   * fires; the planner looks at the schedule again at once. Says how many tasks were cancelled.
   */
  static int withdraw(
      Tx tx, long schedule, TenantId tenant, Instant now, String who, String reason) {
    List<TaskCancels.Task> tasks =
        tx.query(
            PLANNED,
            row -> new TaskCancels.Task(tenant, new TaskId(Sql.uuid(row, "task"))),
            schedule,
            now);
    Set<TaskId> cancelled =
        TaskCancels.cancelUnstarted(tx, tasks, new TaskCancels.Because(who, reason));
    List<Planned> forgotten =
        tx.query(
            FORGET,
            row ->
                new Planned(
                    row.getString("task") == null ? null : new TaskId(Sql.uuid(row, "task")),
                    row.getString("skipped") == null
                        ? null
                        : SkipReason.valueOf(row.getString("skipped"))),
            schedule,
            now,
            Column.uuids(cancelled, TaskId::value));
    goBack(tx, schedule, now, forgotten);
    return cancelled.size();
  }

  private static void goBack(Tx tx, long schedule, Instant now, List<Planned> forgotten) {
    int runs = 0;
    Map<SkipReason, Integer> skipped = new EnumMap<>(SkipReason.class);
    for (Planned fire : forgotten) {
      if (fire.skipped() == null) {
        runs++;
      } else {
        skipped.merge(fire.skipped(), 1, Integer::sum);
      }
    }
    tx.update(
        GO_BACK,
        now,
        now,
        runs,
        skipped.getOrDefault(SkipReason.OVERLAP, 0),
        skipped.getOrDefault(SkipReason.PAUSED, 0),
        skipped.getOrDefault(SkipReason.WINDOW, 0),
        skipped.getOrDefault(SkipReason.DST_GAP, 0),
        skipped.getOrDefault(SkipReason.ENDED, 0),
        schedule);
  }
}
