package carillon.model.task;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The result of one delivery, the same for every protocol. Status codes and client exceptions do
 * not get past this type.
 */
public sealed interface DeliveryResult {

  /** The target accepted the task. */
  record Accepted(@Nullable Integer status, @Nullable String output) implements DeliveryResult {}

  /**
   * The attempt failed and may be retried.
   *
   * @param retryAfter the shortest delay before the next attempt, if the target named one
   */
  record Failed(Failure failure, @Nullable Duration retryAfter) implements DeliveryResult {}

  /** The target rejected the task permanently. */
  record Refused(Failure failure) implements DeliveryResult {}

  /** The target is gone permanently: send it no more tasks of this type. */
  record Gone(Failure failure) implements DeliveryResult {}

  /**
   * There was no answer, and the task is not the cause: the attempt does not count, and the next
   * one starts a few seconds later. The message may have arrived nevertheless; the next one carries
   * the same id and a higher fence.
   */
  record Unreached(Failure failure) implements DeliveryResult {}

  /** The node aborted the attempt, because it is stopping or no longer holds the task. */
  record Interrupted() implements DeliveryResult {}
}
