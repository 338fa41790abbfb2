package carillon.engine;

import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.NodeLease;
import carillon.model.Outcome;
import carillon.store.Endings;
import carillon.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes outcomes in batches: while one batch commits, the next gathers. */
final class Completer {

  private static final Logger log = LoggerFactory.getLogger(Completer.class);
  private static final int MAX_BATCH = 2_000;

  private static final Failure LOST =
      Failure.of(FailureKind.LEASE_LOST, "how the attempt ended is not known");

  /** Only as a net: whoever adds an outcome wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  private final Endings endings;
  private final Supplier<NodeLease> node;
  private final Consumer<EngineEvent> events;
  private final BlockingQueue<Attempted> ended = new LinkedBlockingQueue<>();
  private volatile Runnable whenAdded = () -> {};
  private volatile Consumer<List<Attempted>> whenWritten = _ -> {};
  private volatile Runnable whenMoved = () -> {};

  /** Kept over a write that failed; of this loop's thread only. */
  private final List<Attempted> batch = new ArrayList<>();

  /** The claims of which something is left. Changed under its own lock, read without. */
  private final Map<UUID, Running> running = new ConcurrentHashMap<>();

  /** Claims that were asked for and not answered yet. Guarded by running. */
  private final Set<UUID> claiming = new HashSet<>();

  private volatile @Nullable Long claimedAt;

  /**
   * How many tasks a claim still has, and whose seats they hold.
   *
   * @param untried of those; shared by all versions of this record
   * @param spoiled one of them ended here without a write, be it that it was handed over or that
   *     its outcome was dropped: it is still RUNNING, so the claim must stay in its table
   */
  private record Running(int tasks, AtomicInteger untried, Seats seats, boolean spoiled) {

    Running without(int ended, boolean dropped) {
      return new Running(tasks - ended, untried, seats, spoiled || dropped);
    }

    /** One has been tried, unless the claim was abandoned: then its seat is given back already. */
    void tried() {
      if (untried.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
        seats.tried();
      }
    }
  }

  Completer(Endings endings, Supplier<NodeLease> node, Consumer<EngineEvent> events) {
    this.endings = endings;
    this.node = node;
    this.events = events;
  }

  /** Asks to be told when there is something to write. */
  void whenAdded(Runnable action) {
    this.whenAdded = action;
  }

  /** Asks to be told of what needs no more writing, be it because it cannot be written. */
  void whenWritten(Consumer<List<Attempted>> action) {
    this.whenWritten = action;
  }

  /** Asks to be told, within a pass, that it gets on. */
  void whenMoved(Runnable action) {
    this.whenMoved = action;
  }

  /** A claim is about to be made under this id. */
  void claiming(UUID claim) {
    synchronized (running) {
      claiming.add(claim);
    }
  }

  /**
   * So many tasks of this claim will be added, sooner or later; each takes a seat until then or
   * until it is written, and the claim is over when all of them were.
   */
  void expect(UUID claim, int tasks, Seats seats) {
    seats.take(tasks);
    expectSeated(claim, tasks, seats);
  }

  /** The same of tasks that have their seats already. */
  void expectSeated(UUID claim, int tasks, Seats seats) {
    synchronized (running) {
      running.put(claim, new Running(tasks, new AtomicInteger(tasks), seats, false));
    }
  }

  /**
   * Forgets a claim whose tasks could not be started, and gives back its seats. It is unknown from
   * now on, so {@link LostClaims} gives back its tasks. Those that were started all the same end as
   * any other, without a seat.
   */
  void abandon(UUID claim) {
    Running left;
    synchronized (running) {
      left = running.remove(claim);
    }
    if (left != null) {
      left.seats().leave(left.untried().getAndSet(0), left.tasks());
    }
  }

  /** The claim was answered, or its answer was lost. */
  void claimed(UUID claim) {
    claimedAt = System.nanoTime();
    synchronized (running) {
      claiming.remove(claim);
    }
  }

  /** Whether an answer to a claim came, or was lost, so lately. */
  boolean hasClaimedWithin(Duration time) {
    Long last = claimedAt;
    return last != null && System.nanoTime() - last < time.toNanos();
  }

  /** Whether a claim that the database knows is one that we know of too. */
  boolean isKnown(UUID claim) {
    synchronized (running) {
      return claiming.contains(claim) || running.containsKey(claim);
    }
  }

  void add(Attempted attempted) {
    Running of = running.get(attempted.lease().claim()); // now: once written it may be gone
    ended.add(attempted); // first, because it may fail: then the caller can still drop it
    if (of != null) {
      of.tried();
    }
    whenAdded.run();
  }

  /**
   * The attempt is over, and how it ended is not known. Nothing is written: once the rest of its
   * claim is over the claim is unknown here, and reaped.
   */
  void drop(ClaimedTask task) {
    handedOver(task);
    whenWritten.accept(List.of(new Attempted(task, new Outcome.Released(LOST))));
  }

  /**
   * The task is out of our hands, and whoever has it will say how it ended: nothing is written. Its
   * claim stays in its table, for whoever reports or for the reaper.
   */
  void handedOver(ClaimedTask task) {
    Running of = running.get(task.lease().claim());
    if (of != null) {
      of.tried();
    }
    forget(Map.of(task.lease().claim(), 1), true);
  }

  /** One pass. A batch that could not be written is tried again by the next one. */
  Duration flushOnce() {
    ended.drainTo(batch, MAX_BATCH - batch.size());
    if (batch.isEmpty()) {
      return IDLE;
    }
    try {
      write(batch);
    } catch (RuntimeException e) {
      if (isPassing(e)) {
        throw e;
      }
      log.warn("outcomes={} could not be written together error={}", batch.size(), e.toString());
      while (!batch.isEmpty()) {
        whenMoved.run();
        writeAlone(batch.getFirst());
        batch.removeFirst(); // at once: if a later one must be tried again, this one must not
      }
    }
    batch.clear();
    return ended.isEmpty() ? IDLE : Duration.ZERO;
  }

  private void write(List<Attempted> some) {
    Map<UUID, Integer> ending = perClaim(some);
    int written = endings.finish(some, overAfter(ending), node.get().node()).states().size();
    // What was not written had lost its lease. Normal after a long pause, so counted, not raised.
    events.accept(new EngineEvent.Ended(written, some.size() - written));
    forget(ending, false);
    whenWritten.accept(some);
  }

  /**
   * One that cannot be written must not keep the others. Once they are over, its claim is unknown
   * here, and reaped.
   */
  private void writeAlone(Attempted attempted) {
    try {
      write(List.of(attempted));
    } catch (RuntimeException e) {
      if (isPassing(e)) {
        throw e;
      }
      log.error("outcome dropped task={} error={}", attempted.id(), e.toString());
      forget(perClaim(List.of(attempted)), true);
      whenWritten.accept(List.of(attempted));
    }
  }

  /** Whether it may go well the next time, with all of them. */
  private static boolean isPassing(RuntimeException e) {
    return e instanceof StoreException store && (store.isUnavailable() || store.isBusy());
  }

  private static Map<UUID, Integer> perClaim(List<Attempted> some) {
    Map<UUID, Integer> tasks = new HashMap<>();
    some.forEach(attempted -> tasks.merge(attempted.lease().claim(), 1, Integer::sum));
    return tasks;
  }

  /** The claims of which nothing is left when so many of each are written. */
  private Set<UUID> overAfter(Map<UUID, Integer> ending) {
    Set<UUID> over = new HashSet<>();
    synchronized (running) {
      ending.forEach(
          (claim, tasks) -> {
            Running left = running.get(claim);
            if (left != null && left.tasks() == tasks && !left.spoiled()) {
              over.add(claim);
            }
          });
    }
    return over;
  }

  private void forget(Map<UUID, Integer> ended, boolean dropped) {
    ended.forEach(
        (claim, tasks) -> {
          Running before;
          synchronized (running) {
            before = running.get(claim);
            running.computeIfPresent(
                claim, (_, left) -> left.tasks() == tasks ? null : left.without(tasks, dropped));
          }
          if (before != null) {
            before.seats().giveBack(tasks);
          }
        });
  }
}
