package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.schedule.Schedule;
import carillon.model.task.NewTask;
import carillon.store.db.Tx;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Fires that a user triggers. */
final class ManualTriggers {

  private final Tasks tasks;

  ManualTriggers(Tasks tasks) {
    this.tasks = tasks;
  }

  private static final String RECORD_TRIGGER =
      """
      /* ManualTriggers.record */
      INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition)
      VALUES (?, ?, ?, 'NONE', 'TRIGGER', ?, ?)
      ON CONFLICT DO NOTHING
      """;

  private static final String PLAN_AT =
      """
      /* ManualTriggers.fire */
      UPDATE carillon.schedule
      SET plan_at = least(plan_at, ?) -- also if it was null: the planner has to settle the fire
      WHERE id = ?
      """;

  /**
   * Creates the task and records the fire, under the lock of the schedule's row.
   *
   * @param payload null means the schedule's own
   */
  TaskId fire(Tx tx, StoredSchedule stored, Instant now, @Nullable String payload) {
    Schedule schedule = stored.schedule();
    Instant at = notNominal(now);
    TaskId id = TaskId.at(at, ThreadLocalRandom.current());
    while (!record(tx, stored, at, id)) { // another trigger has this microsecond
      at = at.plus(1, ChronoUnit.MICROS);
    }
    NewTask task =
        schedule.taskDue(
            at, schedule.overlap(), payload == null ? schedule.task().payload() : payload);
    tasks.createFired(tx, List.of(new Tasks.Fired(stored.tenant(), id, schedule.name(), at, task)));
    tx.update(PLAN_AT, at, stored.id());
    return id;
  }

  /** Nominal times are whole milliseconds: a trigger must never take the place of one. */
  private static Instant notNominal(Instant now) {
    return now.equals(now.truncatedTo(ChronoUnit.MILLIS)) ? now.plus(1, ChronoUnit.MICROS) : now;
  }

  private static boolean record(Tx tx, StoredSchedule stored, Instant at, TaskId id) {
    LocalDateTime local = LocalDateTime.ofInstant(at, stored.schedule().zone());
    return tx.update(RECORD_TRIGGER, stored.id(), at, local, id, id.partition()) == 1;
  }
}
