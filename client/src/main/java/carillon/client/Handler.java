package carillon.client;

import org.jspecify.annotations.Nullable;

/**
 * Does the work of tasks of one type.
 *
 * @param <T> what payloads are read as
 */
@FunctionalInterface
public interface Handler<T> {

  /**
   * Works on one attempt. To return is to complete the task; to throw is to fail the attempt, which
   * is then retried: see {@link RetryLater} and {@link DeadTask} for other wishes.
   *
   * @param payload null only if the task has none
   * @return the output, anything that the mapper writes as JSON in 64 KiB, or null for none
   */
  @Nullable Object handle(T payload, TaskContext context) throws Exception;
}
