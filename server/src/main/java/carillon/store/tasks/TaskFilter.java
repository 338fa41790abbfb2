package carillon.store.tasks;

import carillon.model.task.TaskState;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which tasks of a tenant; what is null does not matter.
 *
 * @param error a text that the last error contains, or the answer that came with it
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

  /** The same among tasks of this type. */
  public TaskFilter ofType(@Nullable String type) {
    return new TaskFilter(type, state, key, schedule, dueAfter, dueBefore, error, metadata);
  }
}
