package carillon.model.task;

/** The state of a task. {@link #canBecome} lists all transitions. */
public enum TaskState {

  /**
   * Waits for its due time. Becomes RUNNING when claimed, CANCELLED when cancelled, EXPIRED when
   * not started in time, and DEAD again when its redrive is undone.
   */
  PENDING,

  /** Leased to a node or worker. Becomes COMPLETED, PENDING (again, later), DEAD or CANCELLED. */
  RUNNING,

  COMPLETED,

  /**
   * Failed for the last time; kept as a dead letter. Becomes PENDING when an operator redrives it.
   */
  DEAD,

  CANCELLED,

  /** Was not started before its {@code expiresAt}. */
  EXPIRED;

  public boolean canBecome(TaskState next) {
    return switch (this) {
      case PENDING -> next == RUNNING || next == CANCELLED || next == EXPIRED || next == DEAD;
      case RUNNING -> next == COMPLETED || next == PENDING || next == DEAD || next == CANCELLED;
      case DEAD -> next == PENDING;
      case COMPLETED, CANCELLED, EXPIRED -> false;
    };
  }

  /** Whether the task has not ended yet. */
  public boolean isLive() {
    return switch (this) {
      case PENDING, RUNNING -> true;
      case COMPLETED, DEAD, CANCELLED, EXPIRED -> false;
    };
  }
}
