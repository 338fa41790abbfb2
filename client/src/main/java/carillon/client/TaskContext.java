package carillon.client;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** What a handler knows about the attempt that it works on, and can say while it does. */
public interface TaskContext {

  /** The attempt as it was handed out. */
  ClaimedTask task();

  /** The id, the same for all attempts. */
  default UUID id() {
    return task().id();
  }

  /** The type. */
  default String type() {
    return task().type();
  }

  /** The business key, if it has one. */
  default @Nullable String key() {
    return task().key();
  }

  /** Which attempt this is, from 1. */
  default int attempt() {
    return task().attempt();
  }

  /** Grows with every claim of the task: what you write to can refuse an older one. */
  default long fence() {
    return task().fence();
  }

  /** When it was due. */
  default Instant dueAt() {
    return task().dueAt();
  }

  /** Its data as JSON; a null node if it has none. */
  default JsonNode payload() {
    return task().payload();
  }

  /**
   * Its data as an object.
   *
   * @throws DeadTask if it cannot be read as one, which no retry would change
   */
  <T> T payload(Class<T> type);

  /** Until when it is ours by what the server last said; null if nothing is reported. */
  @Nullable Instant leaseUntil();

  /** Says how far the work is, shown with the task soon after; up to 4,096 characters. */
  void progress(String text);

  /** Whether somebody asked to cancel the task. Known within a third of the lease. */
  boolean isCancelled();

  /**
   * Runs this, on another thread, when a cancel becomes known; at once if it is already.
   *
   * <p>A handler that gives up because of it throws {@link #release}, and the task is CANCELLED.
   */
  void onCancel(Runnable action);

  /** Whether the lease went to somebody else: whatever the handler returns is dropped. */
  boolean isStale();

  /**
   * What to throw to give the task back untouched: it becomes due again at once and this attempt
   * does not count; if it is cancelled, it ends so.
   */
  RuntimeException release();
}
