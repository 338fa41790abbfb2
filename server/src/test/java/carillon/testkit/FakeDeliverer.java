package carillon.testkit;

import carillon.delivery.Deliverer;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Function;

/** A deliverer that records all tasks and returns the configured result. */
public final class FakeDeliverer implements Deliverer {

  /** The request that every delivery reports. */
  public static final String REQUEST = "{\"method\":\"POST\"}";

  private final List<ClaimedTask> delivered = new CopyOnWriteArrayList<>();
  private final CountDownLatch never = new CountDownLatch(1);
  private volatile Function<ClaimedTask, DeliveryResult> response =
      _ -> new DeliveryResult.Accepted(200, "ok");

  public void respondWith(Function<ClaimedTask, DeliveryResult> response) {
    this.response = response;
  }

  /** From now on every attempt waits until it is interrupted. */
  public void hang() {
    response =
        _ -> {
          try {
            never.await();
            throw new AssertionError("this latch is never counted down");
          } catch (InterruptedException e) {
            return new DeliveryResult.Interrupted();
          }
        };
  }

  public List<ClaimedTask> delivered() {
    return delivered;
  }

  @Override
  public Delivery deliver(ClaimedTask task) {
    delivered.add(task);
    return new Delivery(response.apply(task), REQUEST);
  }
}
