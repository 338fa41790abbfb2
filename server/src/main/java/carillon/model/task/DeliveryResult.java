package carillon.model.task;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What came back from one attempt, whatever carried it. Status codes and client exceptions end
 * here.
 */
public sealed interface DeliveryResult {

  /** The target took it. */
  record Accepted(@Nullable Integer status, @Nullable String output) implements DeliveryResult {}

  /**
   * It failed and may work later.
   *
   * @param retryAfter the earliest that the target wants to hear from us, if it said so
   */
  record Failed(Failure failure, @Nullable Duration retryAfter) implements DeliveryResult {}

  /** The target does not want it, ever. */
  record Refused(Failure failure) implements DeliveryResult {}

  /** The target is gone for good: nothing of this type should be sent there any more. */
  record Gone(Failure failure) implements DeliveryResult {}

  /**
   * Nobody answered, and it is not the task's fault: the attempt does not count, and the next one
   * comes a few seconds later. It may have arrived all the same; the next one then carries the same
   * id and a higher fence.
   */
  record Unreached(Failure failure) implements DeliveryResult {}

  /** We gave up on it ourselves, because the node is stopping or no longer owns the task. */
  record Interrupted() implements DeliveryResult {}
}
