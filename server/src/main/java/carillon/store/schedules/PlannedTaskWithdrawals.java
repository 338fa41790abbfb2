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
 * Takes back what was planned for a schedule and is not due yet, because the schedule changes. The
 * caller holds the lock of the schedule's row. What was started ahead of its time, or cancelled by
 * somebody, keeps its fire, so that its nominal time is not planned again.
 */
final class PlannedTaskWithdrawals {

  private PlannedTaskWithdrawals() {}

  /** A fire that is not due yet: its task, or why it was skipped ahead of time. */
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

  private static final String FORGET =
      """
      /* PlannedTaskWithdrawals.forget */
      DELETE FROM carillon.schedule_fire
      WHERE schedule = ?
        AND at > ?
        AND kind = 'SCHEDULED'
        AND (skipped IS NOT NULL OR task = ANY (?))
      RETURNING task, skipped
      """;

  private static final String GO_BACK =
      """
      /* PlannedTaskWithdrawals.goBack */
      UPDATE carillon.schedule
      SET cursor = least(cursor, ?),
          generation = generation + 1,
          plan_at = ?,
          runs = runs - ?
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

  // Of what is open only little is late; its id, which begins with when it was to be due, tells it
  // without a look at the task of each.
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
   * Cancels the tasks of nominal times up to {@code now} that are due later, because of jitter or
   * because they are made up for, and have not started. Their fires stay: their time has come.
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

  private static void goBack(Tx tx, long schedule, Instant now, List<Planned> forgotten) {
    List<SkipReason> skipped = new ArrayList<>();
    for (Planned fire : forgotten) {
      if (fire.skipped() != null) {
        skipped.add(fire.skipped());
      }
    }
    tx.update(GO_BACK, now, now, forgotten.size() - skipped.size(), schedule);
    SkipCounters.takeBack(tx, schedule, skipped);
  }
}
