package carillon.store.queue;

import carillon.model.TaskId;
import carillon.model.task.Lease;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A worker's report about one task that it holds.
 *
 * @param progress free text shown with the task; saved with any outcome
 */
public record WorkReport(
    TaskId id,
    Lease lease,
    Kind kind,
    @Nullable String output,
    @Nullable String error,
    @Nullable Duration retryAfter,
    @Nullable String progress) {

  /** The reported outcome. */
  public enum Kind {
    COMPLETED,
    FAILED,
    DEAD,
    RELEASED
  }
}
