package carillon.engine;

import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.TaskId;
import carillon.store.Nodes;
import carillon.store.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * Runs tasks that a node may have died of, apart from one another. Each is written down before it
 * starts: if this node dies too, the reaper knows whom to blame, and whom not.
 */
final class Suspects implements Claimer.Start {

  /** Who runs for so long without harm does no longer keep the next one from its start. */
  private static final Duration TRIAL = Duration.ofSeconds(1);

  /** Only as a net: whoever adds or ends one wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  /** Those that wait here hold seats, and cannot be run by other nodes. */
  private static final int MAX_WAITING = 16;

  private final Nodes nodes;
  private final Dispatcher dispatcher;
  private final int poisonCrashes;
  private volatile Runnable whenChanged = () -> {};

  // Guarded by this.
  private final Queue<Suspect> waiting = new ArrayDeque<>();
  private final Map<TaskId, String> running = new HashMap<>();
  private boolean isAlone; // the one that runs is not to share the blame with anybody
  private @Nullable TaskId onTrial;
  private long trialEnd;
  private @Nullable String outdated; // the node whose marks name somebody who has ended
  private boolean closed;

  private record Suspect(ClaimedTask task, String node) {}

  /**
   * @param poisonCrashes a task that so many nodes died of is dead
   */
  Suspects(Nodes nodes, Dispatcher dispatcher, int poisonCrashes) {
    this.nodes = nodes;
    this.dispatcher = dispatcher;
    this.poisonCrashes = poisonCrashes;
  }

  /** Asks to be told when the next one may be started. */
  void whenChanged(Runnable action) {
    this.whenChanged = action;
  }

  @Override
  public void start(List<ClaimedTask> tasks, String node) {
    List<ClaimedTask> others = new ArrayList<>(tasks.size());
    for (ClaimedTask task : tasks) {
      if (task.isSuspect()) {
        add(new Suspect(task, node));
      } else {
        others.add(task);
      }
    }
    dispatcher.send(others, node);
    if (others.size() < tasks.size()) {
      whenChanged.run();
    }
  }

  private void add(Suspect suspect) {
    boolean tooLate;
    synchronized (this) {
      tooLate = closed;
      if (!closed) {
        waiting.add(suspect);
      }
    }
    if (tooLate) {
      dispatcher.release(suspect.task());
    }
  }

  @Override
  public synchronized int roomForSuspects() {
    return Math.max(0, MAX_WAITING - waiting.size());
  }

  /** One pass: starts the next one if it may start. */
  Duration startOnce() {
    Suspect next = next();
    if (next == null) {
      forget();
      return untilNext();
    }
    // Written down first, and under the id that claimed it. If that id has lost its lease the task
    // may be running elsewhere.
    boolean mayStart = nodes.mark(next.node(), marks(next.node(), next.task().id()));
    if (!begin(next, mayStart)) {
      return Duration.ZERO;
    }
    if (mayStart) {
      dispatcher.send(List.of(next.task()), next.node());
      return TRIAL;
    }
    dispatcher.release(next.task());
    return Duration.ZERO;
  }

  private synchronized @Nullable Suspect next() {
    Suspect next = waiting.peek();
    boolean isTried = onTrial != null && System.nanoTime() - trialEnd < 0;
    boolean isBarred = !running.isEmpty() && (isAlone || (next != null && isLastChance(next)));
    return isTried || isBarred || closed ? null : next;
  }

  /** One more crash, and it is dead: so it runs when no other suspect does. */
  private boolean isLastChance(Suspect suspect) {
    return suspect.task().crashes() + 1 >= poisonCrashes;
  }

  private synchronized List<TaskId> marks(String node, @Nullable TaskId more) {
    List<TaskId> marks = new ArrayList<>();
    running.forEach(
        (id, of) -> {
          if (of.equals(node)) {
            marks.add(id);
          }
        });
    if (more != null) {
      marks.add(more);
    }
    return marks;
  }

  /** False if everybody who waited has been released meanwhile. */
  private synchronized boolean begin(Suspect next, boolean mayStart) {
    if (closed) {
      return false;
    }
    waiting.remove();
    if (mayStart) {
      running.put(next.task().id(), next.node());
      isAlone = isLastChance(next);
      onTrial = next.task().id();
      trialEnd = System.nanoTime() + TRIAL.toNanos();
    }
    return true;
  }

  /** Takes back the marks of those that have ended, when nobody's start does so anyway. */
  private void forget() {
    String node;
    synchronized (this) {
      node = outdated;
      outdated = null;
    }
    if (node != null) {
      try {
        nodes.mark(node, marks(node, null));
      } catch (StoreException e) {
        synchronized (this) {
          outdated = node; // again by the next pass
        }
        throw e;
      }
    }
  }

  private synchronized Duration untilNext() {
    Duration left = Duration.ofNanos(trialEnd - System.nanoTime());
    return waiting.isEmpty() || !left.isPositive() ? IDLE : left;
  }

  /**
   * What became of these attempts is written. Not earlier: a suspect that the tables call running,
   * and that is not marked, has not begun.
   */
  void ended(Collection<Attempted> attempts) {
    boolean any = false;
    synchronized (this) {
      if (running.isEmpty()) {
        return;
      }
      for (Attempted attempted : attempts) {
        String node = running.remove(attempted.id());
        if (node != null) {
          any = true;
          outdated = node;
          onTrial = attempted.id().equals(onTrial) ? null : onTrial;
        }
      }
    }
    if (any) {
      whenChanged.run();
    }
  }

  /** Gives back those that wait; nobody is started any more. */
  void close() {
    List<Suspect> left;
    synchronized (this) {
      closed = true;
      left = List.copyOf(waiting);
      waiting.clear();
    }
    left.forEach(suspect -> dispatcher.release(suspect.task()));
  }
}
