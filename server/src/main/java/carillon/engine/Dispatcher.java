package carillon.engine;

import carillon.delivery.Deliverer;
import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.DeliveryResult;
import carillon.model.NodeLease;
import carillon.model.Target;
import carillon.store.DbClock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Runs attempts, one virtual thread each. Touches no database. */
final class Dispatcher {

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

  /** Starts an attempt for each; every one of them ends at the completer. */
  void start(List<ClaimedTask> tasks) {
    completer.expect(tasks);
    for (ClaimedTask task : tasks) {
      switch (task.target()) {
        case Target.Discard() ->
            ended(task, new DeliveryResult.Accepted(null, null), Duration.ZERO);
        case Target.Http _ -> attempts.execute(() -> attempt(task));
        // The type's target was changed to pull between our look at it and the claim: workers will
        // find it.
        case Target.Pull() -> ended(task, new DeliveryResult.Interrupted(), Duration.ZERO);
      }
    }
  }

  private void attempt(ClaimedTask task) {
    long began = System.nanoTime();
    // A node that was paused past its lease must not send what others have been given meanwhile.
    DeliveryResult result =
        node.get().isTrusted(began) ? deliverer.deliver(task) : new DeliveryResult.Interrupted();
    ended(task, result, Duration.ofNanos(System.nanoTime() - began));
  }

  private void ended(ClaimedTask task, DeliveryResult result, Duration took) {
    events.accept(new EngineEvent.Delivered(result, took));
    completer.add(
        new Attempted(
            task, task.retry().decide(task, result, clock.instant(), ThreadLocalRandom.current())));
  }

  /** Interrupts what runs; each attempt ends as released. */
  void interrupt() {
    attempts.shutdownNow();
  }

  /** Waits for every attempt to have ended. */
  void close() {
    attempts.close();
  }
}
