package carillon.engine;

import carillon.model.Partition;
import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.store.cluster.Nodes;
import carillon.store.db.StoreException;
import carillon.store.queue.Agenda;
import carillon.store.queue.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs suspects (tasks that may have crashed a node) in small groups. A group is marked in the
 * database before it starts, and a task's mark is removed only after its outcome is saved. If this
 * node crashes too, the reaper can tell the suspects that had started, and may be to blame, from
 * those that had not.
 *
 * <p>Why a poison task is dead after its crashes: whenever it crashes a node it had started, so it
 * was marked or not yet a suspect, and both count a crash. Why no innocent task dies with it:
 * before its last crash a task runs while no other suspect does. The group sizes in between decide
 * only how soon every suspect has been tried.
 */
final class Suspects {

  private static final Logger log = LoggerFactory.getLogger(Suspects.class);

  /**
   * A suspect that survives this long no longer delays the next one: one more may start beyond the
   * group size, so that long tasks do not block the others until they end.
   */
  private static final Duration TRIAL = Duration.ofSeconds(1);

  /** A fallback only: every suspect that is added or ends wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  /** Waiting tasks read per lane: suspects behind them are not counted. */
  private static final int MAX_COUNTED = 2_000;

  private final Nodes nodes;
  private final WorkQueue queue;
  private final Dispatcher dispatcher;
  private final Agenda agenda;
  private final IntPredicate isOurs;
  private final SuspectGroups groups;
  private final Signal changed;

  // Guarded by this.
  private final Queue<Suspect> waiting = new ArrayDeque<>();
  private final Map<TaskId, Begun> running = new HashMap<>();
  private final Map<Place, Instant> places = new HashMap<>(); // lanes where more may wait
  private long trialEnd = System.nanoTime();
  private @Nullable String outdated; // the node that still marks a task that has ended
  private boolean closed;
  private int left; // suspects waiting in the lanes, at the last count

  private long countedAt = System.nanoTime() - TRIAL.toNanos(); // used by the loop's thread only

  private record Suspect(ClaimedTask task, String node) {

    TaskId id() {
      return task.id();
    }
  }

  /** A running suspect. It has no payload, because it may run for long. */
  private record Begun(int crashes, String node) {}

  /** A lane of a partition. */
  private record Place(Partition partition, int lane) {}

  /**
   * The suspects of this node.
   *
   * @param waiting on this node and in the lanes that it owns
   * @param oldest when the first waiting suspect became ready; null if none waits
   */
  record Count(int waiting, int running, @Nullable Instant oldest) {}

  /**
   * @param isOurs the lanes that this node owns: other nodes count the suspects in their lanes
   * @param changed raised when the next group may start
   */
  Suspects(
      Nodes nodes,
      WorkQueue queue,
      Dispatcher dispatcher,
      Agenda agenda,
      IntPredicate isOurs,
      SuspectGroups groups,
      Signal changed) {
    this.nodes = nodes;
    this.queue = queue;
    this.dispatcher = dispatcher;
    this.agenda = agenda;
    this.isOurs = isOurs;
    this.groups = groups;
    this.changed = changed;
  }

  /** Queues suspects until their group may start. */
  void add(List<ClaimedTask> tasks, String node) {
    tasks.forEach(task -> add(new Suspect(task, node)));
    changed.raise();
  }

  private void add(Suspect suspect) {
    boolean tooLate;
    synchronized (this) {
      tooLate = closed;
      if (!closed) {
        waiting.add(suspect);
        places.merge(
            new Place(suspect.id().partition(), suspect.task().lane()),
            suspect.task().readyAt(),
            (known, readyAt) -> readyAt.isBefore(known) ? readyAt : known);
      }
    }
    if (tooLate) {
      dispatcher.release(suspect.task());
    }
  }

  /** How many suspects can be claimed at the moment. */
  synchronized int room() {
    return Math.max(0, groups.maxWaiting() - waiting.size());
  }

  synchronized Count count() {
    Instant oldest =
        waiting.stream()
            .map(suspect -> suspect.task().readyAt())
            .min(Comparator.naturalOrder())
            .orElse(null);
    return new Count(waiting.size() + left, running.size(), oldest);
  }

  /** One pass: starts the next group, if it may start. */
  Duration startOnce() {
    countLeft();
    List<Suspect> group = next();
    if (group.isEmpty()) {
      forget();
      return untilNext();
    }
    // Marked first, under the node id that claimed them. If that id has lost its lease, the tasks
    // may be running elsewhere.
    String node = group.getFirst().node();
    boolean mayStart = nodes.mark(node, marks(node, group));
    List<ClaimedTask> tasks = group.stream().map(Suspect::task).toList();
    // They may have waited for long, so a cancel requested since the claim is honoured.
    Set<TaskId> cancelled = mayStart ? queue.cancelRequested(tasks) : Set.of();
    if (!begin(group, mayStart)) {
      return Duration.ZERO;
    }
    if (mayStart) {
      send(tasks, cancelled, node);
    } else {
      group.forEach(suspect -> dispatcher.release(suspect.task()));
    }
    askForMore();
    return Duration.ZERO;
  }

  private void send(List<ClaimedTask> group, Set<TaskId> cancelled, String node) {
    List<ClaimedTask> wanted = new ArrayList<>(group.size());
    for (ClaimedTask task : group) {
      if (cancelled.contains(task.id())) {
        dispatcher.release(task); // which ends it as CANCELLED
      } else {
        wanted.add(task);
      }
    }
    dispatcher.send(wanted, node);
  }

  /** The suspects that may start now, from the head of the queue, so that none starves. */
  private synchronized List<Suspect> next() {
    List<Suspect> group = new ArrayList<>();
    int size = Integer.MAX_VALUE;
    for (Begun begun : running.values()) {
      size = Math.min(size, groups.size(begun.crashes()));
    }
    boolean isTried = System.nanoTime() - trialEnd >= 0;
    for (Suspect suspect : waiting) {
      size = Math.min(size, groups.size(suspect.task().crashes()));
      boolean fits = running.size() + group.size() < size;
      boolean isOneMore = isTried && group.isEmpty() && size > SuspectGroups.ALONE;
      boolean isOfNode = group.isEmpty() || suspect.node().equals(group.getFirst().node());
      if (closed || !isOfNode || !(fits || isOneMore)) {
        break;
      }
      group.add(suspect);
    }
    return group;
  }

  private synchronized List<TaskId> marks(String node, List<Suspect> more) {
    List<TaskId> marks = new ArrayList<>();
    running.forEach(
        (id, begun) -> {
          if (begun.node().equals(node)) {
            marks.add(id);
          }
        });
    more.forEach(suspect -> marks.add(suspect.id()));
    return marks;
  }

  /** False if all waiting suspects have been released meanwhile. */
  private synchronized boolean begin(List<Suspect> group, boolean mayStart) {
    if (closed) {
      outdated = group.getFirst().node();
      return false;
    }
    for (Suspect suspect : group) {
      waiting.remove();
      if (mayStart) {
        running.put(suspect.id(), new Begun(suspect.task().crashes(), suspect.node()));
      }
    }
    trialEnd = System.nanoTime() + TRIAL.toNanos();
    return true;
  }

  /** Claims skip suspects while there is no room for them; nothing else would claim them now. */
  private void askForMore() {
    Map<Place, Instant> known;
    synchronized (this) {
      if (closed || 2 * waiting.size() > groups.maxWaiting()) {
        return;
      }
      known = Map.copyOf(places);
    }
    known.forEach((place, from) -> agenda.found(place.partition(), place.lane(), from));
  }

  /** Counts the suspects in the lanes, at most once a second. */
  private void countLeft() {
    Map<Partition, List<Agenda.Entry>> byPartition = new HashMap<>();
    synchronized (this) {
      places.forEach(
          (place, since) ->
              byPartition
                  .computeIfAbsent(place.partition(), _ -> new ArrayList<>())
                  .add(new Agenda.Entry(place.partition(), place.lane(), since)));
    }
    if (byPartition.isEmpty() || System.nanoTime() - countedAt < TRIAL.toNanos()) {
      return;
    }
    countedAt = System.nanoTime();
    int counted = 0;
    for (Map.Entry<Partition, List<Agenda.Entry>> each : byPartition.entrySet()) {
      Map<Integer, Integer> counts = counts(each.getKey(), each.getValue());
      if (counts == null) {
        return; // the query failed, so keep what is known
      }
      for (Agenda.Entry entry : each.getValue()) {
        int suspects = counts.getOrDefault(entry.lane(), 0);
        counted += isOurs.test(entry.lane()) ? suspects : 0;
        if (suspects == 0) {
          forgetPlace(new Place(entry.partition(), entry.lane()), entry.from());
        }
      }
    }
    synchronized (this) {
      left = counted;
    }
  }

  /** Null if the query fails: a count must not prevent a start. */
  private @Nullable Map<Integer, Integer> counts(Partition partition, List<Agenda.Entry> lanes) {
    try {
      return queue.suspects(partition, lanes, MAX_COUNTED);
    } catch (StoreException e) {
      log.debug("cannot count suspects partition={}", partition, e);
      return e.isGone() ? Map.of() : null; // gone: the partition was dropped
    }
  }

  private synchronized void forgetPlace(Place place, Instant since) {
    places.remove(place, since); // unless another suspect was claimed there meanwhile
  }

  /** Removes the marks of suspects that have ended, unless the next start has done so. */
  private void forget() {
    String node;
    synchronized (this) {
      node = outdated;
      outdated = null;
    }
    if (node != null) {
      try {
        nodes.mark(node, marks(node, List.of()));
      } catch (StoreException e) {
        synchronized (this) {
          outdated = node; // the next pass retries
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
   * Called when the outcomes of these attempts are saved, not earlier: a suspect that is RUNNING in
   * the database and not marked has not started.
   */
  void ended(Collection<Attempted> attempts) {
    boolean any = false;
    synchronized (this) {
      if (running.isEmpty()) {
        return;
      }
      for (Attempted attempted : attempts) {
        Begun begun = running.remove(attempted.id());
        if (begun != null) {
          any = true;
          outdated = begun.node();
        }
      }
    }
    if (any) {
      changed.raise();
    }
  }

  /** Releases the waiting suspects. No suspect starts after this. */
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
