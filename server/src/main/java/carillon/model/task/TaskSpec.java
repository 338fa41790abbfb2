package carillon.model.task;

import carillon.model.target.Target;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields of a task that its creator sets and that its row stores unchanged.
 *
 * @param concurrencyKey at most one task of one type with this key runs at a time
 * @param payload JSON text, stored and delivered byte for byte
 * @param target null means the type's
 * @param retry null means the type's
 * @param callbacks a null callback means the type's
 */
public record TaskSpec(
    String type,
    @Nullable String key,
    @Nullable String concurrencyKey,
    @Nullable String payload,
    @Nullable Target target,
    @Nullable RetryPolicy retry,
    Map<String, String> metadata,
    Callbacks callbacks) {

  public TaskSpec {
    metadata = Map.copyOf(metadata);
  }

  /** A task without retry policy, concurrency key, metadata and callbacks of its own. */
  public TaskSpec(
      String type, @Nullable String key, @Nullable String payload, @Nullable Target target) {
    this(type, key, null, payload, target, null, Map.of(), Callbacks.NONE);
  }
}
