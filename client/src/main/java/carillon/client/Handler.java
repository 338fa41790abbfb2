package carillon.client;

import org.jspecify.annotations.Nullable;

/**
 * Handles tasks of one type.
 *
 * @param <T> the type of the payload
 */
@FunctionalInterface
public interface Handler<T> {

  /**
   * Handles one attempt. Returning completes the task; throwing fails the attempt, which is then
   * retried. See {@link RetryLater} and {@link DeadTask} for other outcomes.
   *
   * @param payload null only if the task has no payload
   * @return the output: any value that the mapper writes as at most 64 KiB of JSON, or null
   */
  @Nullable Object handle(T payload, TaskContext context) throws Exception;
}
