package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The attempt that a handler works on. */
public interface TaskContext {

  /** The attempt as it was claimed. */
  ClaimedTask task();

  /** The id, the same for all attempts. */
  default UUID id() {
    return task().id();
  }

  /** The type. */
  default String type() {
    return task().type();
  }

  /** The business key, if any. */
  default @Nullable String key() {
    return task().key();
  }

  /** The number of this attempt, from 1. */
  default int attempt() {
    return task().attempt();
  }

  /** Increases with every claim of the task, so that a store can reject older writes. */
  default long fence() {
    return task().fence();
  }

  /** When it was due. */
  default Instant dueAt() {
    return task().dueAt();
  }

  /** The payload as JSON; a null node if the task has none. */
  default JsonNode payload() {
    return task().payload();
  }

  /**
   * The payload as an object.
   *
   * @throws DeadTask if it cannot be read as this type, because no retry would help
   */
  <T> T payload(Class<T> type);

  /** When the lease expires, as of the last renewal; null if nothing is reported. */
  @Nullable Instant leaseUntil();

  /** Sets the progress text shown with the task, up to 4,096 characters. */
  void progress(String text);

  /** Whether a cancel was requested. Known within a third of the lease. */
  boolean isCancelled();

  /**
   * Runs the action on another thread when a cancel is requested, or immediately if it already was.
   *
   * <p>A handler that stops because of it throws {@link #release}; the task is then CANCELLED.
   */
  void onCancel(Runnable action);

  /** Whether the lease expired and the task was claimed again: the result will be dropped. */
  boolean isStale();

  /**
   * Returns an exception to throw to release the task: it is due again immediately and this attempt
   * does not count. A task with a requested cancel becomes CANCELLED.
   */
  RuntimeException release();
}
