package carillon.client;

import java.time.Duration;

/**
 * Observes a worker, for metrics and logs. Called on the worker's threads, so it must not block.
 * Exceptions are logged and ignored.
 */
public interface WorkerListener {

  /** The result of an attempt. */
  enum Result {
    /** The handler returned. */
    COMPLETED,
    /** The handler threw; the task is retried while it has attempts left. */
    FAILED,
    /** The task is dead-lettered. */
    DEAD,
    /** The task was released; the attempt does not count. */
    RELEASED,
    /** The lease expired and the task was claimed again; the result was dropped. */
    STALE
  }

  /** The worker received a task. */
  default void claimed(ClaimedTask task) {}

  /** A handler starts. */
  default void started(ClaimedTask task) {}

  /** A handler ended, or the task was released before one started. Not reported yet. */
  default void ended(ClaimedTask task, Result result, Duration took) {}

  /** A handler threw; the report contains the error as well. */
  default void handlerThrew(ClaimedTask task, Throwable what) {}

  /** The server accepted the report of a task. */
  default void reported(ClaimedTask task) {}

  /** The task was claimed again, so its report was dropped. */
  default void stale(ClaimedTask task) {}

  /** A cancel was requested for a task that this worker holds. */
  default void cancelled(ClaimedTask task) {}

  /** A call to the server or broker failed; it will be retried. */
  default void callFailed(Exception why) {}
}
