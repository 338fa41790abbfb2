package carillon.delivery.rabbitmq;

import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** One message to publish; it ends exactly once. */
final class Publication {

  private static final int UNSENT = -1;

  final ClaimedTask task;
  final Target.RabbitMq target;

  private final QueueDepths.@Nullable Depth depth;
  private final BiConsumer<ClaimedTask, DeliveryResult> ended;
  private final long createdAt = System.nanoTime();
  private final AtomicBoolean hasEnded = new AtomicBoolean();
  private volatile boolean returned;
  private volatile long sentAt;
  private volatile int length = UNSENT;

  Publication(
      ClaimedTask task,
      Target.RabbitMq target,
      QueueDepths.@Nullable Depth depth,
      BiConsumer<ClaimedTask, DeliveryResult> ended) {
    this.task = task;
    this.target = target;
    this.depth = depth;
    this.ended = ended;
  }

  /** Later calls have no effect. */
  void end(DeliveryResult result) {
    if (hasEnded.compareAndSet(false, true)) {
      if (depth != null) {
        depth.ended();
      }
      ended.accept(task, result);
    }
  }

  /** In nanoseconds of the monotonic clock. */
  long createdAt() {
    return createdAt;
  }

  /** Whether the lease has ended, so that another holder may have the task. */
  boolean isLapsed(Instant now) {
    Instant until = task.leaseUntil();
    return until != null && !until.isAfter(now);
  }

  void sent(long nanoTime, int bytes) {
    sentAt = nanoTime;
    length = bytes;
  }

  long sentAt() {
    return sentAt;
  }

  boolean isSent() {
    return length != UNSENT;
  }

  /** The length of the body in bytes, once it was sent. */
  int length() {
    return length;
  }

  boolean isOf(String taskId, @Nullable Object fence) {
    return taskId.equals(task.id().toString())
        && String.valueOf(fence).equals(Long.toString(task.lease().fence()));
  }

  /** The broker could not route it; the confirm that follows does not mean that it is stored. */
  void markReturned() {
    returned = true;
  }

  /** The result of a confirm. */
  DeliveryResult confirmed() {
    return returned
        ? failed(FailureKind.UNROUTABLE, "no queue is bound to the exchange with this routing key")
        : new DeliveryResult.Accepted(null, null);
  }

  static DeliveryResult failed(FailureKind kind, String message) {
    return new DeliveryResult.Failed(Failure.of(kind, message), null);
  }

  static DeliveryResult refused(String message) {
    return new DeliveryResult.Refused(Failure.of(FailureKind.BROKER_REFUSED, message));
  }

  static DeliveryResult unreached(String message) {
    return new DeliveryResult.Unreached(Failure.of(FailureKind.BROKER_LOST, message));
  }
}
