package carillon.store.queue;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.Attempted;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.Outcome;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The end of one task's claim, to be saved.
 *
 * @param type may be unknown where it is completed
 * @param request the request that was sent, without secrets; null if there was none or it is
 *     unknown
 * @param blamed whether the task may have crashed its node
 */
record ClaimEnding(
    TenantId tenant,
    TaskId id,
    @Nullable String type,
    Lease lease,
    Outcome outcome,
    @Nullable String progress,
    @Nullable String request,
    boolean blamed) {

  static ClaimEnding reaped(HeldClaims.Held held, Outcome outcome, boolean blamed) {
    return new ClaimEnding(
        held.tenant(), held.id(), held.type(), held.lease(), outcome, null, null, blamed);
  }

  static ClaimEnding of(Attempted attempted) {
    return new ClaimEnding(
        attempted.tenant(),
        attempted.id(),
        attempted.type(),
        attempted.lease(),
        attempted.outcome(),
        null,
        attempted.request(),
        false);
  }

  /**
   * Whether the attempt has shown that the task does not crash nodes: the target received it, and
   * the node survived the response. An attempt that did not reach the target shows nothing, because
   * the response may be what crashes the node.
   */
  boolean isCleared() {
    return outcome instanceof Outcome.RetryAt(_, var failure)
        && failure.kind().cause() == FailureKind.Cause.TARGET_FAILED;
  }

  boolean isCompleted() {
    return outcome instanceof Outcome.Completed;
  }

  @Nullable Failure failure() {
    return switch (outcome) {
      case Outcome.Completed _ -> null;
      case Outcome.RetryAt(_, var failure) -> failure;
      case Outcome.Dead(var failure, _) -> failure;
      case Outcome.Released(var why, _) -> why;
    };
  }

  @Nullable Integer status() {
    Failure failure = failure();
    return outcome instanceof Outcome.Completed done
        ? done.status()
        : failure == null ? null : failure.status();
  }

  @Nullable String output() {
    Failure failure = failure();
    return outcome instanceof Outcome.Completed done
        ? done.output()
        : failure == null ? null : failure.output();
  }

  @Nullable Instant readyAt() {
    return switch (outcome) {
      case Outcome.RetryAt(var readyAt, _) -> readyAt;
      case Outcome.Released(_, var readyAt) -> readyAt;
      case Outcome.Completed _, Outcome.Dead _ -> null;
    };
  }
}
