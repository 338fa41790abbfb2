package carillon.store.tasks;

import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Selects tasks of a tenant. A null field matches all tasks.
 *
 * @param error a text in the last error, or in the response that came with it
 */
public record TaskFilter(
    @Nullable String type,
    @Nullable TaskState state,
    @Nullable String key,
    @Nullable String schedule,
    @Nullable Instant dueAfter,
    @Nullable Instant dueBefore,
    @Nullable String error,
    Map<String, String> metadata) {

  public static final TaskFilter ALL =
      new TaskFilter(null, null, null, null, null, null, null, Map.of());

  public TaskFilter {
    metadata = Map.copyOf(metadata);
  }

  /** This filter with another type. */
  public TaskFilter ofType(@Nullable String type) {
    return new TaskFilter(type, state, key, schedule, dueAfter, dueBefore, error, metadata);
  }
}
