package carillon.delivery;

import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;

/** Carries out attempts, one per call. */
public interface Deliverer {

  /**
   * Makes one attempt and waits for its end. Does not throw; what went wrong is in the result.
   *
   * <p>Call it on a virtual thread: there, an interrupt ends the attempt, which is then answered
   * with {@link DeliveryResult.Interrupted}. A platform thread that waits for a socket does not
   * notice an interrupt before the deadline.
   */
  Delivery deliver(ClaimedTask task);
}
