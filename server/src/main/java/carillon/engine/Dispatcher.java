package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.cluster.NodeLease;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.store.db.DbClock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs attempts, one virtual thread each. Touches no database. */
final class Dispatcher {

  private static final Logger log = LoggerFactory.getLogger(Dispatcher.class);

  private static final Failure NOT_STARTED =
      Failure.of(FailureKind.CONNECTION, "the node could not start the attempt");

  private final Deliverer deliverer;
  private final Supplier<NodeLease> node;
  private final Completer completer;
  private final DbClock clock;
  private final Consumer<EngineEvent> events;
  private final ExecutorService attempts =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("attempt-", 0).factory());

  Dispatcher(
      Deliverer deliverer,
      Supplier<NodeLease> node,
      Completer completer,
      DbClock clock,
      Consumer<EngineEvent> events) {
    this.deliverer = deliverer;
    this.node = node;
    this.completer = completer;
    this.clock = clock;
    this.events = events;
  }

  /**
   * Starts an attempt for each HTTP task, completes {@code discard} tasks and releases the others.
   * Every task ends at the completer.
   *
   * @param node the id under which they were claimed
   */
  void send(List<ClaimedTask> tasks, String node) {
    for (ClaimedTask task : tasks) {
      switch (task.target()) {
        case Target.Discard() -> completeAtOnce(task);
        case Target.Http _ -> begin(task, node);
        case Target.Pull(), Target.Broker _ -> release(task);
      }
    }
  }

  /** Without memory for a thread, the task is released and the others are started. */
  private void begin(ClaimedTask task, String node) {
    try {
      attempts.execute(() -> attempt(task, node));
    } catch (RejectedExecutionException e) { // the node stops
      release(task);
    } catch (RuntimeException | Error e) {
      log.error("attempt could not be started task={}", task.id(), e);
      decideAndSave(
          task, Delivery.unsent(new DeliveryResult.Unreached(NOT_STARTED)), Duration.ZERO);
    }
  }

  /** Completes each of these tasks at once: their target is {@code discard}. */
  void discard(List<ClaimedTask> tasks) {
    for (ClaimedTask task : tasks) {
      switch (task.target()) {
        case Target.Discard() -> completeAtOnce(task);
        case Target.Http _, Target.Pull(), Target.Broker _ -> release(task);
      }
    }
  }

  private void completeAtOnce(ClaimedTask task) {
    decideAndSave(task, Delivery.unsent(new DeliveryResult.Accepted(null, null)), Duration.ZERO);
  }

  /**
   * Releases a task that was not started, for example because the type's target changed between
   * reading the type and the claim: the claimer of the new target will find it.
   */
  void release(ClaimedTask task) {
    decideAndSave(task, Delivery.unsent(new DeliveryResult.Interrupted()), Duration.ZERO);
  }

  private void attempt(ClaimedTask task, String claimedBy) {
    long began = System.nanoTime();
    Delivery delivery =
        isStillOurs(claimedBy, began)
            ? deliver(task)
            : Delivery.unsent(new DeliveryResult.Interrupted());
    decideAndSave(task, delivery, Duration.ofNanos(System.nanoTime() - began));
  }

  /** A node that was paused past its lease must not send tasks that other nodes hold by now. */
  boolean isStillOurs(String claimedBy, long now) {
    NodeLease lease = node.get();
    return lease.node().equals(claimedBy) && lease.isTrusted(now);
  }

  private Delivery deliver(ClaimedTask task) {
    try {
      return deliverer.deliver(task);
    } catch (RuntimeException | Error e) { // an attempt that never ended would keep its seat
      log.error("attempt failed unexpectedly task={}", task.id(), e);
      return Delivery.unsent(
          new DeliveryResult.Failed(
              Failure.of(
                  FailureKind.PROTOCOL, "the attempt failed unexpectedly; see the node's log"),
              null));
    }
  }

  void decideAndSave(ClaimedTask task, Delivery delivery, Duration took) {
    try {
      DeliveryResult result = delivery.result();
      delivered(result, took);
      completer.add(
          new Attempted(
              task,
              task.retry().decide(task, result, clock.latest(), ThreadLocalRandom.current()),
              delivery.request()));
    } catch (RuntimeException | Error e) { // a task that never ended would keep its seat
      log.error("outcome lost task={}", task.id(), e);
      completer.drop(task);
    }
  }

  /** Counts a delivery. A failing listener must not cost an outcome or a seat. */
  void delivered(DeliveryResult result, Duration took) {
    try {
      events.accept(new EngineEvent.Delivered(result, took));
    } catch (RuntimeException | Error e) {
      log.warn("delivery not counted error={}", e.toString());
    }
  }

  /** Interrupts all running attempts; each ends as released. */
  void interrupt() {
    attempts.shutdownNow();
  }

  /** Waits for every attempt to have ended. */
  void close() {
    attempts.close();
  }
}
