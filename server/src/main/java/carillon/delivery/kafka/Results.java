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
 * Maps Kafka's errors to delivery results. Tenants see only the class of an error: details would
 * expose the operator's network.
 */
final class Results {

  private Results() {}

  static DeliveryResult of(Exception error) {
    return switch (error) {
      case RecordTooLargeException _, RecordBatchTooLargeException _ ->
          refused("the message is larger than Kafka accepts");
      case InvalidTopicException _ -> refused("Kafka rejected the topic name");
      case AuthorizationException _ ->
          failed(FailureKind.BROKER_REFUSED, "Carillon may not write to this topic");
      case RetriableException _, AuthenticationException _ -> lost();
      case ApiException e when !isFatal(e) ->
          failed(FailureKind.BROKER_REFUSED, "Kafka rejected the message");
      default -> lost();
    };
  }

  /** Does not consume an attempt, because the task did not cause it. */
  static DeliveryResult lost() {
    return new DeliveryResult.Unreached(
        Failure.of(FailureKind.BROKER_LOST, "Kafka did not confirm the message in time"));
  }

  /** Not sent, because the token in the message would already be invalid. */
  static DeliveryResult tooLate() {
    return new DeliveryResult.Unreached(
        Failure.of(FailureKind.BROKER_LOST, "the lease ended before the message could be sent"));
  }

  static DeliveryResult noSuchTopic() {
    return failed(FailureKind.UNROUTABLE, "no such topic");
  }

  /** Whether to check the topic and the cluster before sending more. */
  static boolean isDoubtful(Exception error) {
    return of(error) instanceof DeliveryResult.Unreached
        && !(error instanceof BufferExhaustedException);
  }

  /** Whether the producer that reported the error is unusable. */
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
