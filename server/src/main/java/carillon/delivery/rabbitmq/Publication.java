package carillon.delivery.rabbitmq;

import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.Target;
import com.rabbitmq.client.AMQP.BasicProperties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** One message on its way, which ends once. */
final class Publication {

  final ClaimedTask task;
  final Target.RabbitMq target;
  final BasicProperties properties;
  final byte[] body;

  private final QueueDepths.@Nullable Watch watch;
  private final BiConsumer<ClaimedTask, DeliveryResult> ended;
  private final AtomicBoolean hasEnded = new AtomicBoolean();
  private volatile boolean returned;
  private volatile long sentAt;

  Publication(
      ClaimedTask task,
      Target.RabbitMq target,
      BasicProperties properties,
      byte[] body,
      QueueDepths.@Nullable Watch watch,
      BiConsumer<ClaimedTask, DeliveryResult> ended) {
    this.task = task;
    this.target = target;
    this.properties = properties;
    this.body = body;
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

  void sent(long nanoTime) {
    sentAt = nanoTime;
  }

  long sentAt() {
    return sentAt;
  }

  boolean isOf(String taskId, @Nullable Object fence) {
    return taskId.equals(properties.getMessageId())
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

  static DeliveryResult unreached(String message) {
    return new DeliveryResult.Unreached(Failure.of(FailureKind.BROKER_LOST, message));
  }
}
