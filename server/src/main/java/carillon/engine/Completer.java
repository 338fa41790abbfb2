package carillon.engine;

import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.NodeLease;
import carillon.model.Outcome;
import carillon.model.TaskState;
import carillon.store.Endings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Writes outcomes in batches: while one batch commits, the next gathers. */
final class Completer {

  private static final int MAX_BATCH = 2_000;

  /** Only as a net: whoever adds an outcome wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  private final Endings endings;
  private final Supplier<NodeLease> node;
  private final Seats seats;
  private final Consumer<EngineEvent> events;
  private final BlockingQueue<Attempted> ended = new LinkedBlockingQueue<>();
  private final List<Attempted> batch =
      new ArrayList<>(); // kept over a failed write; of this loop's thread only
  private final Map<UUID, Integer> running =
      new HashMap<>(); // tasks left of each claim; guarded by itself
  private volatile Runnable whenAdded = () -> {};

  Completer(Endings endings, Supplier<NodeLease> node, Seats seats, Consumer<EngineEvent> events) {
    this.endings = endings;
    this.node = node;
    this.seats = seats;
    this.events = events;
  }

  /** Asks to be told when there is something to write. */
  void whenAdded(Runnable action) {
    this.whenAdded = action;
  }

  /** These will be added, sooner or later; their claims are over when all of them were. */
  void expect(List<ClaimedTask> tasks) {
    synchronized (running) {
      tasks.forEach(task -> running.merge(task.lease().claim(), 1, Integer::sum));
    }
  }

  void add(Attempted attempted) {
    ended.add(attempted);
    whenAdded.run();
  }

  /** One pass. A batch that could not be written is tried again by the next one. */
  Duration flushOnce() {
    ended.drainTo(batch, MAX_BATCH - batch.size());
    if (batch.isEmpty()) {
      return IDLE;
    }
    Map<UUID, Integer> left = leftOfClaims();
    Set<UUID> over = new HashSet<>();
    left.forEach((claim, tasks) -> addIfOver(over, claim, tasks));
    Endings.Written written = endings.finish(batch, over, node.get().node());
    events.accept(event(written));
    forget(left);
    seats.giveBack(batch.size());
    batch.clear();
    return ended.isEmpty() ? IDLE : Duration.ZERO;
  }

  private static void addIfOver(Set<UUID> over, UUID claim, int tasks) {
    if (tasks <= 0) {
      over.add(claim);
    }
  }

  /** How many tasks each claim in this batch still has after it. */
  private Map<UUID, Integer> leftOfClaims() {
    Map<UUID, Integer> left = new HashMap<>();
    synchronized (running) {
      for (Attempted attempted : batch) {
        UUID claim = attempted.task().lease().claim();
        left.merge(claim, running.getOrDefault(claim, 1) - 1, (now, _) -> now - 1);
      }
    }
    return left;
  }

  private void forget(Map<UUID, Integer> left) {
    synchronized (running) {
      left.forEach((claim, tasks) -> running.compute(claim, (_, _) -> tasks > 0 ? tasks : null));
    }
  }

  private EngineEvent event(Endings.Written written) {
    List<EngineEvent.Ending> endings = new ArrayList<>();
    int fenced = 0;
    for (Attempted attempted : batch) {
      TaskState next = written.states().get(attempted.task().id());
      if (next == null) {
        fenced++; // another lease took over. Normal after a long pause, so counted, not raised.
      } else {
        endings.add(EngineEvent.ending(next, attempted.outcome() instanceof Outcome.Released));
      }
    }
    return new EngineEvent.Ended(endings, fenced);
  }
}
