package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.db.CopiedRows;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The row of a task that is about to be inserted.
 *
 * @param schedule the schedule that created it
 * @param fireAt the nominal time for which the schedule created it
 */
record TaskRow(
    TaskId id,
    Lane lane,
    TaskSpec spec,
    Instant readyAt,
    Instant dueAt,
    Instant createdAt,
    @Nullable Instant expiresAt,
    @Nullable String schedule,
    @Nullable Instant fireAt)
    implements InsertedTask {

  TaskRow firedBy(String schedule, Instant fireAt) {
    return new TaskRow(id, lane, spec, readyAt, dueAt, createdAt, expiresAt, schedule, fireAt);
  }

  @Override
  public TenantId tenant() {
    return lane.tenant();
  }

  @Override
  public int laneId() {
    return lane.id();
  }

  @Override
  public @Nullable String specColumn(int index) {
    return TaskColumns.text(spec, index);
  }

  @Override
  public int payloadBytes() {
    String payload = spec.payload();
    return payload == null ? 0 : payload.getBytes(StandardCharsets.UTF_8).length;
  }

  @Override
  public void addSpec(CopiedRows copied) {
    for (int i = 0; i < TaskColumns.FIRST_JSON; i++) {
      copied.add(specColumn(i));
    }
    for (int i = TaskColumns.FIRST_JSON; i < TaskColumns.SPEC.size(); i++) {
      copied.addJson(specColumn(i));
    }
  }

  /** The task as its first attempt gets it, if it starts in the transaction that creates it. */
  ClaimedTask claimed(TaskType type, Lease lease, Instant at) {
    Target ownTarget = spec.target();
    Target target = ownTarget == null ? type.target() : ownTarget;
    return new ClaimedTask(
        tenant(),
        id,
        lane.id(),
        lane.type(),
        lane.priority(),
        spec.key(),
        1,
        lease,
        dueAt,
        readyAt,
        at,
        null,
        target instanceof Target.Discard ? null : spec.payload(), // it is not delivered
        target,
        ownTarget == null,
        spec.retry() == null ? type.retry() : spec.retry(),
        type.timeout(),
        type.signingSecrets(),
        0,
        type.statuses(),
        schedule,
        fireAt);
  }

  /** The task as it will be read back. */
  TaskView view(String tenantName, TaskType type) {
    RetryPolicy retry = spec.retry() == null ? type.retry() : spec.retry();
    return new TaskView(
        tenantName,
        id,
        lane,
        spec,
        TaskState.PENDING,
        dueAt,
        readyAt,
        createdAt,
        null,
        null,
        expiresAt,
        0,
        retry.maxAttempts(),
        0,
        1,
        false,
        null,
        null,
        schedule,
        fireAt,
        AttemptResult.NONE,
        null,
        0);
  }
}
