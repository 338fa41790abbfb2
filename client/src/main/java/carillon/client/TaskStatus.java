package carillon.client;

/** The status of a task. */
public enum TaskStatus {
  /** Waiting for its due time, a free slot, a worker or its next attempt. */
  PENDING,
  /** An attempt is running. */
  RUNNING,
  /** Succeeded. */
  COMPLETED,
  /** Failed permanently; a dead letter. */
  DEAD,
  /** Cancelled. */
  CANCELLED,
  /** Not started in time. */
  EXPIRED;

  /** Whether the task has finished; only a redrive changes it again. */
  public boolean isTerminal() {
    return this != PENDING && this != RUNNING;
  }
}
