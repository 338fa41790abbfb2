package carillon.model.task;

import carillon.model.TaskId;
import carillon.model.TenantId;
import org.jspecify.annotations.Nullable;

/**
 * An attempt that is over, and what it amounts to. It no longer knows the payload, so that tasks
 * that wait for their outcome to be written take little room.
 *
 * @param request what was sent, without secrets; null if nothing was
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
