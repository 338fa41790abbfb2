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

/** One message on its way, which ends once. */
final class Publication {

  private static final int UNSENT = -1;

  final ClaimedTask task;
  final Target.RabbitMq target;

  private final QueueDepths.@Nullable Watch watch;
  private final BiConsumer<ClaimedTask, DeliveryResult> ended;
  private final long handedInAt = System.nanoTime();
  private final AtomicBoolean hasEnded = new AtomicBoolean();
  private volatile boolean returned;
  private volatile long sentAt;
  private volatile int length = UNSENT;

  Publication(
      ClaimedTask task,
      Target.RabbitMq target,
      QueueDepths.@Nullable Watch watch,
      BiConsumer<ClaimedTask, DeliveryResult> ended) {
    this.task = task;
    this.target = target;
    this.watch = watch;
    this.ended = ended;
  }

  /** The first end counts. */
  void end(DeliveryResult result) {
    if (hasEnded.compareAndSet(false, true)) {
      if (watch != null) {
        watch.ended();
      }
      ended.accept(task, result);
    }
  }

  /** In nanoseconds of the monotonic clock. */
  long handedInAt() {
    return handedInAt;
  }

  /** Whether its lease is over, so that another may have the task by now. */
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

  /** Of its body, in bytes, once it was sent. */
  int length() {
    return length;
  }

  boolean isOf(String taskId, @Nullable Object fence) {
    return taskId.equals(task.id().toString())
        && String.valueOf(fence).equals(Long.toString(task.lease().fence()));
  }

  /** The broker gave it back; its confirm follows and means only that it has been dealt with. */
  void markReturned() {
    returned = true;
  }

  /** The broker has taken it over, or has said before that nobody wants it. */
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
