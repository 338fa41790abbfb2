package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.schedule.SkipReason;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskCancels;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Withdraws the planned tasks of a schedule that are not due yet, because the schedule changes. The
 * caller holds the lock of the schedule's row. A task that was started early, or cancelled by a
 * user, keeps its fire, so that its nominal time is not planned again.
 */
final class PlannedTaskWithdrawals {

  private PlannedTaskWithdrawals() {}

  /** A fire that is not due yet: its task, or why it was skipped. */
  private record Planned(@Nullable TaskId task, @Nullable SkipReason skipped) {}

  private static final String PLANNED =
      """
      /* PlannedTaskWithdrawals.planned */
      SELECT task
      FROM carillon.schedule_fire
      WHERE schedule = ?
        AND at > ?
        AND kind = 'SCHEDULED'
        AND task IS NOT NULL
        AND outcome IS NULL
      """;

  private static final String DELETE_FIRES =
      """
      /* PlannedTaskWithdrawals.deleteFires */
      DELETE FROM carillon.schedule_fire
      WHERE schedule = ?
        AND at > ?
        AND kind = 'SCHEDULED'
        AND (skipped IS NOT NULL OR task = ANY (?))
      RETURNING task, skipped
      """;

  private static final String REWIND =
      """
      /* PlannedTaskWithdrawals.rewind */
      UPDATE carillon.schedule
      SET cursor = least(cursor, ?),
          generation = generation + 1,
          plan_at = ?,
          runs = runs - ?
      WHERE id = ?
      """;

  /**
   * Cancels the tasks of nominal times after {@code now} that have not started, and deletes their
   * fires; the schedule is due for planning at once. Returns the number of cancelled tasks.
   */
  static int withdraw(
      Tx tx, long schedule, TenantId tenant, Instant now, TaskCancels.Because because) {
    List<TaskCancels.Task> tasks =
        tx.query(
            PLANNED,
            row -> new TaskCancels.Task(tenant, new TaskId(Sql.uuid(row, "task"))),
            schedule,
            now);
    Set<TaskId> cancelled = TaskCancels.cancelUnstarted(tx, tasks, because);
    List<Planned> deleted =
        tx.query(
            DELETE_FIRES,
            row ->
                new Planned(
                    row.getString("task") == null ? null : new TaskId(Sql.uuid(row, "task")),
                    row.getString("skipped") == null
                        ? null
                        : SkipReason.valueOf(row.getString("skipped"))),
            schedule,
            now,
            Column.uuids(cancelled, TaskId::value));
    rewind(tx, schedule, now, deleted);
    return cancelled.size();
  }

  // Few unsettled fires are late. A task id starts with the original due time, so the condition on
  // f.task finds them without reading each task.
  private static final String LATE =
      """
      /* PlannedTaskWithdrawals.late */
      SELECT f.task
      FROM carillon.schedule_fire f
      CROSS JOIN LATERAL (
          SELECT
          FROM carillon.task t
          WHERE t.tenant = ?
            AND t.id = f.task
            AND t.partition = f.partition
            AND t.due_at > ?
          LIMIT 1 -- looked up one by one
      ) t
      WHERE f.schedule = ?
        AND f.at <= ?
        AND f.kind = 'SCHEDULED'
        AND f.task >= ?
        AND f.task IS NOT NULL
        AND f.outcome IS NULL
      """;

  /**
   * Cancels unstarted tasks of nominal times up to {@code now} that are due later, because of
   * jitter or catch-up. Their fires stay, because their nominal time has passed.
   */
  static void cancelLate(
      Tx tx, long schedule, TenantId tenant, Instant now, TaskCancels.Because because) {
    UUID first = new UUID(now.toEpochMilli() << 16, 0);
    List<TaskCancels.Task> tasks =
        tx.query(
            LATE,
            row -> new TaskCancels.Task(tenant, new TaskId(Sql.uuid(row, "task"))),
            tenant,
            now,
            schedule,
            now,
            first);
    TaskCancels.cancelUnstarted(tx, tasks, because);
  }

  private static void rewind(Tx tx, long schedule, Instant now, List<Planned> deleted) {
    List<SkipReason> skipped = new ArrayList<>();
    for (Planned fire : deleted) {
      if (fire.skipped() != null) {
        skipped.add(fire.skipped());
      }
    }
    tx.update(REWIND, now, now, deleted.size() - skipped.size(), schedule);
    SkipCounters.subtract(tx, schedule, skipped);
  }
}
