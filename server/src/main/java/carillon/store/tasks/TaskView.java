package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.task.Lane;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A task as it is now: with the values of the view every_task.
 *
 * @param tenant its name
 * @param lane the lane in which it waits, or last waited
 * @param spec without payload if the query did not read it
 * @param readyAt when the next attempt may start; null unless PENDING
 * @param maxAttempts from the task's own retry policy or else from its type's
 * @param scheduleName the schedule that created it
 * @param fireAt the nominal time for which the schedule created it
 * @param last the result of the last attempt
 * @param crashes the number of nodes that died while they ran it and that it may have killed
 */
public record TaskView(
    String tenant,
    TaskId id,
    Lane lane,
    TaskSpec spec,
    TaskState state,
    Instant dueAt,
    @Nullable Instant readyAt,
    Instant createdAt,
    @Nullable Instant startedAt,
    @Nullable Instant finishedAt,
    @Nullable Instant expiresAt,
    int attempt,
    int maxAttempts,
    int fence,
    int version,
    boolean cancelRequested,
    @Nullable String leasedBy,
    @Nullable Instant leaseUntil,
    @Nullable String scheduleName,
    @Nullable Instant fireAt,
    AttemptResult last,
    @Nullable String progress,
    int crashes) {

  public String type() {
    return spec.type();
  }

  public @Nullable String key() {
    return spec.key();
  }

  public int priority() {
    return lane.priority();
  }
}
