package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.NewTask;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.db.CopiedRows;
import carillon.store.db.Sql;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A task about to be inserted: what was asked for, with its id, lane and times settled.
 *
 * @param fireAt the nominal time, where a schedule made it
 */
record TaskRow(
    TenantId tenant,
    TaskId id,
    int lane,
    int priority,
    Instant readyAt,
    Instant dueAt,
    Instant createdAt,
    @Nullable Instant expiresAt,
    NewTask asked,
    @Nullable String schedule,
    @Nullable Instant fireAt)
    implements InsertedTask {

  TaskRow firedBy(String schedule, Instant fireAt) {
    return new TaskRow(
        tenant, id, lane, priority, readyAt, dueAt, createdAt, expiresAt, asked, schedule, fireAt);
  }

  @Override
  public @Nullable String column(int index) {
    return switch (index) {
      case 0 -> asked.key();
      case 1 -> asked.concurrencyKey();
      case 2 -> asked.payload();
      case 3 -> Sql.json(asked.target());
      case 4 -> Sql.json(asked.retry());
      case 5 -> Sql.json(asked.metadata());
      case 6 -> Sql.json(asked.callbacks().onComplete());
      case 7 -> Sql.json(asked.callbacks().onDead());
      default -> throw new IndexOutOfBoundsException(index);
    };
  }

  @Override
  public void addColumns(CopiedRows copied) {
    for (int i = 0; i < PackedTasks.FIRST_JSON; i++) {
      copied.add(column(i));
    }
    for (int i = PackedTasks.FIRST_JSON; i < PackedTasks.COLUMNS; i++) {
      copied.addJson(column(i));
    }
  }

  /** As it will read back, without asking the database. */
  TaskView view(String tenantName, TaskType type) {
    return new TaskView(
        tenantName,
        id,
        lane,
        asked.type(),
        asked.key(),
        TaskState.PENDING,
        priority,
        dueAt,
        readyAt,
        createdAt,
        null,
        null,
        expiresAt,
        0,
        (asked.retry() == null ? type.retry() : asked.retry()).maxAttempts(),
        0,
        1,
        false,
        null,
        null,
        asked.payload(),
        asked.target(),
        asked.retry(),
        asked.concurrencyKey(),
        schedule,
        fireAt,
        asked.metadata(),
        null,
        null,
        null,
        null,
        null,
        null,
        0,
        asked.callbacks());
  }
}
