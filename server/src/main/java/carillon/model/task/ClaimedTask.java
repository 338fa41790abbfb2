package carillon.model.task;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A task in the hands of whoever runs its next attempt, with everything needed to run and to judge
 * it.
 *
 * @param attempt the number of the attempt that this claim starts, from 1
 * @param readyAt from when on it could have been claimed: the due time, or when its retry was due
 * @param target the task's own or else the type's, as it was when claimed
 * @param targetIsOfType whether the target is the type's
 * @param timeout the deadline of the whole attempt
 * @param leaseUntil when the lease ends unless renewed; null while the node's own lease covers it
 * @param signingSecrets what deliveries are signed with, newest first; empty means unsigned
 * @param crashes nodes that died while they ran it, as far as it may be to blame
 * @param statuses what the answers of an HTTP target mean
 * @param scheduleName the schedule that made it; null where none did
 * @param fireAt the nominal time that it was made for, the same over all attempts
 */
public record ClaimedTask(
    TenantId tenant,
    TaskId id,
    int lane,
    String type,
    int priority,
    @Nullable String key,
    int attempt,
    Lease lease,
    Instant dueAt,
    Instant readyAt,
    Instant claimedAt,
    @Nullable Instant leaseUntil,
    @Nullable String payload,
    Target target,
    boolean targetIsOfType,
    RetryPolicy retry,
    Duration timeout,
    List<SigningSecret> signingSecrets,
    int crashes,
    StatusRules statuses,
    @Nullable String scheduleName,
    @Nullable Instant fireAt) {

  public ClaimedTask {
    signingSecrets = List.copyOf(signingSecrets);
  }

  /** Whether a node died while it ran this, so that it is better run apart from the others. */
  public boolean isSuspect() {
    return crashes > 0;
  }
}
