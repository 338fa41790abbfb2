package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.FailureKind;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A task as it stands in its row, for showing.
 *
 * @param lane the line that it waits in, or waited in last
 * @param readyAt when the next attempt may start; null unless PENDING
 * @param maxAttempts of the task's own policy or else its type's
 * @param payload null where it was not asked for, and where there is none
 * @param target the task's own; null where it follows its type
 * @param retry the task's own; null where it follows its type
 * @param scheduleName the schedule that made it
 * @param fireAt the nominal time that the schedule made it for
 * @param failure why the last attempt failed, if it did
 * @param request what the last attempt sent, as JSON without secrets; null if nothing
 * @param crashes nodes that died while they ran it, as far as it may be to blame
 * @param callbacks the task's own; what is null follows its type
 */
public record TaskView(
    String tenant,
    TaskId id,
    int lane,
    String type,
    @Nullable String key,
    TaskState state,
    int priority,
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
    @Nullable String payload,
    @Nullable Target target,
    @Nullable RetryPolicy retry,
    @Nullable String concurrencyKey,
    @Nullable String scheduleName,
    @Nullable Instant fireAt,
    Map<String, String> metadata,
    @Nullable Integer status,
    @Nullable FailureKind failure,
    @Nullable String error,
    @Nullable String output,
    @Nullable String progress,
    @Nullable String request,
    int crashes,
    Callbacks callbacks) {}
