package carillon.delivery;

import carillon.model.Signal;
import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** Publishes tasks to one broker cluster, many at a time. */
public interface Publisher extends AutoCloseable {

  BrokerName name();

  /** While false, no tasks should be claimed for this broker. Called often. */
  boolean isReachable();

  /** How many more messages the target's queue accepts; MAX_VALUE without a depth limit. */
  int remainingCapacity(Target.Broker target);

  /** Whether unconfirmed messages use all the memory they may; then nothing should be claimed. */
  boolean isFull();

  /** The longest that a message may wait for its confirm. */
  Duration confirmTimeout();

  /**
   * Starts publishing. Each task ends exactly once, on any thread. Never blocks on the network and
   * never throws.
   */
  void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended);

  /** Raised when the broker may be reachable, or may accept more messages, again. */
  Signal ready();

  /** The last known depth of each watched queue or consumer group. */
  default Map<String, Long> depths() {
    return Map.of();
  }

  /** Ends all messages in flight as {@link DeliveryResult.Interrupted}. */
  @Override
  void close();
}
