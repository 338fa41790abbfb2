package carillon.model.task;

import carillon.model.target.Target;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A task as it was asked for; what is null follows the type or has no value.
 *
 * @param dueAt null means now, by the database's clock; so does the past
 * @param delay instead of dueAt: that long after now, by the database's clock
 * @param payload JSON text, kept and delivered byte for byte
 * @param ttl instead of expiresAt: that long after the due time
 * @param uniqueFor while a task of the same type and key is live, or was created within this time,
 *     it is the answer
 */
public record NewTask(
    String type,
    @Nullable String key,
    @Nullable Instant dueAt,
    @Nullable Duration delay,
    @Nullable Integer priority,
    @Nullable String payload,
    @Nullable Target target,
    @Nullable RetryPolicy retry,
    @Nullable Instant expiresAt,
    @Nullable Duration ttl,
    @Nullable String concurrencyKey,
    @Nullable Duration uniqueFor,
    Map<String, String> metadata,
    Callbacks callbacks) {

  public NewTask {
    metadata = Map.copyOf(metadata);
  }

  /** One that tells nobody how it ends. */
  public NewTask(
      String type,
      @Nullable String key,
      @Nullable Instant dueAt,
      @Nullable Duration delay,
      @Nullable Integer priority,
      @Nullable String payload,
      @Nullable Target target,
      @Nullable RetryPolicy retry,
      @Nullable Instant expiresAt,
      @Nullable Duration ttl,
      @Nullable String concurrencyKey,
      @Nullable Duration uniqueFor,
      Map<String, String> metadata) {
    this(
        type,
        key,
        dueAt,
        delay,
        priority,
        payload,
        target,
        retry,
        expiresAt,
        ttl,
        concurrencyKey,
        uniqueFor,
        metadata,
        Callbacks.NONE);
  }

  /** The same, but these are told how it ends. */
  public NewTask telling(Callbacks callbacks) {
    return new NewTask(
        type,
        key,
        dueAt,
        delay,
        priority,
        payload,
        target,
        retry,
        expiresAt,
        ttl,
        concurrencyKey,
        uniqueFor,
        metadata,
        callbacks);
  }
}
