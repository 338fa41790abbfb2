package carillon.engine;

import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.store.queue.WorkQueue.Claimant;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Starts the tasks of one claimer, and decides on what terms they are claimed. {@link HttpStarter}
 * delivers them over HTTP, {@link BrokerStarter} publishes them, {@link DiscardStarter} completes
 * them at once.
 */
interface TaskStarter {

  /** False while nothing can be started. The starter wakes the claimer when that changes. */
  default boolean isReady() {
    return true;
  }

  /**
   * Whether tasks may be started by the thread that creates them. Otherwise only the claimer does,
   * so that it can count what its limits still allow.
   */
  default boolean startsImmediately() {
    return false;
  }

  /** A fresh limit for one pass: lanes that share a broker's queue also share its room. */
  default LaneLimit limitForPass() {
    return LaneLimit.NONE;
  }

  /** Caps a lane's share of the seats. */
  interface LaneLimit {

    LaneLimit NONE = (_, share) -> share;

    int cap(Lane lane, int share);
  }

  /** How long a broker's consumer may hold a task of this lane; null if this node holds it. */
  default @Nullable Duration consumerLease(Lane lane) {
    return null;
  }

  /**
   * In whose name to claim, and what to read of each task.
   *
   * @param consumerLease how long a broker's consumer will hold the tasks; null if this node will
   */
  Claimant claimant(UUID claim, String node, @Nullable Duration consumerLease);

  /**
   * Starts every task. Each one ends at the completer, or is handed over to a consumer. If this
   * throws, the whole claim is abandoned, with what was started.
   */
  void start(List<ClaimedTask> tasks, String node);
}
