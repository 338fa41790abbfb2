package carillon.engine;

import carillon.delivery.Publisher;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Lane;
import carillon.store.catalog.Catalog;
import carillon.store.queue.WorkQueue.Claimant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Hands the tasks claimed for one broker cluster to its publisher. */
final class BrokerStarter implements TaskStarter {

  private final Publisher publisher;
  private final Catalog catalog;
  private final Dispatcher dispatcher;
  private final Completer completer;
  private final LongAdder published = new LongAdder();

  BrokerStarter(Publisher publisher, Catalog catalog, Dispatcher dispatcher, Completer completer) {
    this.publisher = publisher;
    this.catalog = catalog;
    this.dispatcher = dispatcher;
    this.completer = completer;
  }

  /** Messages that the broker has confirmed. */
  long published() {
    return published.sum();
  }

  /** Whether tasks of this lane go to this broker, and it accepts more of them now. */
  boolean accepts(int lane) {
    return catalog.brokerNow(lane).filter(publisher.name()::equals).isPresent()
        && (!(catalog.targetNow(lane) instanceof Target.Broker to)
            || publisher.remainingCapacity(to) > 0);
  }

  @Override
  public boolean isReady() {
    return publisher.isReachable() && !publisher.isFull();
  }

  /** Lanes of one type share the remaining capacity of its queue. */
  @Override
  public LaneLimit limitForPass() {
    Map<Target, Integer> room = new HashMap<>();
    return (lane, share) -> {
      if (!(catalog.targetNow(lane.id()) instanceof Target.Broker to)) {
        return share; // the tasks' own targets have no limit
      }
      int left = room.computeIfAbsent(to, _ -> publisher.remainingCapacity(to));
      int some = Math.max(0, Math.min(share, left));
      room.put(to, left - some);
      return some;
    };
  }

  /** The consumer's lease, plus the time that the message may take to reach it. */
  @Override
  public @Nullable Duration consumerLease(Lane lane) {
    return catalog.isReportedNow(lane.id())
        ? catalog.type(lane).leaseTimeout().plus(publisher.confirmTimeout())
        : null;
  }

  @Override
  public Claimant claimant(UUID claim, String node, @Nullable Duration consumerLease) {
    return consumerLease == null
        ? Claimant.node(claim, node, Integer.MAX_VALUE)
        : Claimant.reporter(claim, publisher.name().text(), consumerLease);
  }

  @Override
  public void start(List<ClaimedTask> tasks, String node) {
    long began = System.nanoTime();
    boolean ours = dispatcher.isStillOurs(node, began);
    List<ClaimedTask> fit = new ArrayList<>(tasks.size());
    for (ClaimedTask task : tasks) {
      if (ours && isForThisBroker(task)) {
        fit.add(task);
      } else {
        dispatcher.release(task);
      }
    }
    if (!fit.isEmpty()) {
      publisher.publish(
          fit,
          (task, result) -> onResult(task, result, Duration.ofNanos(System.nanoTime() - began)));
    }
  }

  /** The type's target may have changed between reading the type and the claim. */
  private boolean isForThisBroker(ClaimedTask task) {
    return task.target() instanceof Target.Broker to
        && to.broker().equals(publisher.name())
        && isReported(task) == (to.complete() == Target.Complete.ON_REPORT);
  }

  /** A claim for a consumer has a lease of its own. */
  private static boolean isReported(ClaimedTask task) {
    return task.leaseUntil() != null;
  }

  private void onResult(ClaimedTask task, DeliveryResult result, Duration took) {
    boolean confirmed = result instanceof DeliveryResult.Accepted;
    if (confirmed) {
      published.increment();
    }
    if (confirmed && isReported(task)) {
      dispatcher.delivered(result, took);
      completer.handOver(task);
    } else {
      dispatcher.decideAndSave(task, Delivery.unsent(result), took);
    }
  }
}
