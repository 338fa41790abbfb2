package carillon.model.task;

import carillon.model.TaskId;
import carillon.model.TenantId;
import org.jspecify.annotations.Nullable;

/**
 * A finished attempt and its outcome. It does not hold the payload, so outcomes that wait to be
 * written use little memory.
 *
 * @param request the request that was sent, without secrets; null if nothing was sent
 */
public record Attempted(
    TenantId tenant,
    TaskId id,
    String type,
    Lease lease,
    Outcome outcome,
    @Nullable String request) {

  public Attempted(ClaimedTask task, Outcome outcome) {
    this(task, outcome, null);
  }

  public Attempted(ClaimedTask task, Outcome outcome, @Nullable String request) {
    this(task.tenant(), task.id(), task.type(), task.lease(), outcome, request);
  }
}
