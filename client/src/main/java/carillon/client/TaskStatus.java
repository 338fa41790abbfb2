package carillon.client;

/** Where a task is in its life. */
public enum TaskStatus {
  /** It waits for its due time, for a worker or for its next attempt. */
  PENDING,
  /** An attempt is under way. */
  RUNNING,
  /** It succeeded. */
  COMPLETED,
  /** It failed for the last time and lies among the dead letters. */
  DEAD,
  /** Somebody cancelled it. */
  CANCELLED,
  /** It was not started in time. */
  EXPIRED;

  /** Whether nothing more happens to it unless somebody redrives it. */
  public boolean isOver() {
    return this != PENDING && this != RUNNING;
  }
}
