package carillon.client;

import java.time.Duration;

/**
 * Hears what a worker does, for metrics and logs. Called on the worker's threads, so must not
 * block; what it throws is ignored.
 */
public interface WorkerListener {

  /** How an attempt ended for the worker. */
  enum Result {
    /** Its handler returned. */
    COMPLETED,
    /** Its handler threw: it is retried while it has attempts. */
    FAILED,
    /** It goes to the dead letters. */
    DEAD,
    /** It was given back untouched. */
    RELEASED,
    /** Its lease had gone to somebody else; what the handler returned was dropped. */
    STALE
  }

  /** A task was handed to the worker. */
  default void claimed(ClaimedTask task) {}

  /** A handler begins. */
  default void started(ClaimedTask task) {}

  /** A handler ended, or the task was given back before one began; not reported yet. */
  default void ended(ClaimedTask task, Result result, Duration took) {}

  /** A handler threw something, which is in the report as well. */
  default void handlerThrew(ClaimedTask task, Throwable what) {}

  /** The server accepted what was said about a task. */
  default void reported(ClaimedTask task) {}

  /** The task had gone to somebody else, so that nothing could be said about it any more. */
  default void stale(ClaimedTask task) {}

  /** A cancel of a task in hand became known. */
  default void cancelled(ClaimedTask task) {}

  /** A call to the server or broker failed; it is repeated after a pause. */
  default void callFailed(Exception why) {}
}
