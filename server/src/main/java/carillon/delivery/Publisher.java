package carillon.delivery;

import carillon.model.target.BrokerName;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/** Hands tasks to one broker cluster, many at once. */
public interface Publisher extends AutoCloseable {

  BrokerName name();

  /** Whether the broker answers; while not, nothing should be claimed for it. Asked often. */
  boolean isReachable();

  /** How many more messages the target's queue takes; MAX_VALUE where nobody limits it. */
  int room(Target.Broker target);

  /** Whether it holds as many bytes as it may; nothing should be claimed for it then. */
  boolean isFull();

  /** The longest that a message may wait here for its confirm. */
  Duration patience();

  /**
   * Starts to publish. Each task ends exactly once, on any thread. Never waits for the network and
   * never throws.
   */
  void publish(List<ClaimedTask> tasks, BiConsumer<ClaimedTask, DeliveryResult> ended);

  /** Asks to be told when it can be reached again or has room again. */
  void whenReady(Runnable action);

  /** How many messages wait, as last seen, by the queue or consumer group that is watched. */
  default Map<String, Long> depths() {
    return Map.of();
  }

  /** Ends whatever is in flight as {@link DeliveryResult.Interrupted}. */
  @Override
  void close();
}
