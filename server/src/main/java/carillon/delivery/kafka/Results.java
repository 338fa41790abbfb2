package carillon.delivery.kafka;

import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import org.apache.kafka.clients.producer.BufferExhaustedException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordBatchTooLargeException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;

/**
 * What Kafka's errors mean for a task. A tenant is told the class of it only: details would tell
 * about the operator's network.
 */
final class Results {

  private Results() {}

  static DeliveryResult of(Exception error) {
    return switch (error) {
      case RecordTooLargeException _, RecordBatchTooLargeException _ ->
          refused("the message is larger than Kafka takes");
      case InvalidTopicException _ -> refused("Kafka does not take this name of a topic");
      case AuthorizationException _ ->
          failed(FailureKind.BROKER_REFUSED, "Carillon may not write to this topic");
      case RetriableException _, AuthenticationException _ -> lost();
      case ApiException e when !isFatal(e) ->
          failed(FailureKind.BROKER_REFUSED, "Kafka refused the message");
      default -> lost();
    };
  }

  /** Costs no attempt: it is not the task's fault. */
  static DeliveryResult lost() {
    return new DeliveryResult.Unreached(
        Failure.of(FailureKind.BROKER_LOST, "Kafka did not confirm the message in time"));
  }

  /** Its token is worth nothing any more, so nobody should get it. */
  static DeliveryResult tooLate() {
    return new DeliveryResult.Unreached(
        Failure.of(FailureKind.BROKER_LOST, "its lease was over before Kafka could take it"));
  }

  static DeliveryResult noSuchTopic() {
    return failed(FailureKind.UNROUTABLE, "there is no such topic");
  }

  /** Whether the topic, or the whole cluster, should be looked at before more is sent. */
  static boolean isDoubtful(Exception error) {
    return of(error) instanceof DeliveryResult.Unreached
        && !(error instanceof BufferExhaustedException);
  }

  /** Whether the producer that it came from can send nothing any more. */
  static boolean isFatal(Exception error) {
    return switch (error) {
      case OutOfOrderSequenceException _,
          ProducerFencedException _,
          InvalidProducerEpochException _,
          IllegalStateException _ ->
          true;
      default -> false;
    };
  }

  private static DeliveryResult refused(String message) {
    return new DeliveryResult.Refused(Failure.of(FailureKind.BROKER_REFUSED, message));
  }

  private static DeliveryResult failed(FailureKind kind, String message) {
    return new DeliveryResult.Failed(Failure.of(kind, message), null);
  }
}
