package carillon.delivery;

import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;

/** Runs one attempt per call. */
public interface Deliverer {

  /**
   * Makes one attempt and waits until it ends. Does not throw: failures are results.
   *
   * <p>Call it on a virtual thread: there, an interrupt ends the attempt with {@link
   * DeliveryResult.Interrupted}. A platform thread blocked on a socket notices an interrupt only at
   * the deadline.
   */
  Delivery deliver(ClaimedTask task);
}
