package carillon.model;

/**
 * An attempt that is over, and what it amounts to. It no longer knows the payload, so that tasks
 * that wait for their outcome to be written take little room.
 */
public record Attempted(TenantId tenant, TaskId id, String type, Lease lease, Outcome outcome) {

  public Attempted(ClaimedTask task, Outcome outcome) {
    this(task.tenant(), task.id(), task.type(), task.lease(), outcome);
  }
}
