package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.Signal;
import carillon.store.tasks.DueListener;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The waiting tasks that this process knows of: per partition and lane, a time before which no task
 * is ready. A hint and nothing more: the sweep finds what it misses, and an entry too many costs
 * one empty claim.
 *
 * <p>It is also the cursor of each lane. A claim starts at the time noted here and not at the head
 * of the lane, where, while a transaction holds an old snapshot, every entry claimed since is still
 * to be stepped over.
 */
public final class Agenda implements DueListener {

  private final Map<Partition, Map<Integer, Instant>> waiting = new TreeMap<>();
  private final Signal workDue;
  private volatile Peers peers = Peers.NONE;

  /**
   * @param workDue raised when a lane gets an entry earlier than the one it had
   */
  public Agenda(Signal workDue) {
    this.workDue = workDue;
  }

  /** A lane of a partition, and the time of the first task that may wait in it. */
  public record Entry(Partition partition, int lane, Instant from) {}

  /** The other nodes, each of which owns lanes. */
  public interface Peers {

    Peers NONE =
        new Peers() {
          @Override
          public boolean own(int lane) {
            return false;
          }

          @Override
          public boolean share(int lane) {
            return false;
          }

          @Override
          public boolean areLateWith(Instant head) {
            return false;
          }

          @Override
          public boolean mayMiss(Partition partition) {
            return false;
          }

          @Override
          public void hint(Partition partition, int lane, Instant readyAt) {
            throw new IllegalStateException("this node has no peers");
          }
        };

    /**
     * Whether another node owns this lane. Always false for lanes of workers, and for lanes that
     * this process does not know.
     */
    boolean own(int lane);

    /** Whether all nodes serve this lane: workers may claim from any node. */
    boolean share(int lane);

    /** Whether the owner should already have claimed a task that is ready since then. */
    boolean areLateWith(Instant head);

    /**
     * Whether peers sweep this partition so rarely that this node must keep its own entries for it.
     */
    boolean mayMiss(Partition partition);

    /** Sends a hint about a new task in a lane of theirs. */
    void hint(Partition partition, int lane, Instant readyAt);
  }

  /** From now on, entries in lanes of peers are hinted to them, and kept only if they are late. */
  public void shareWith(Peers peers) {
    this.peers = peers;
  }

  /** Adds a new task for the owner of its lane: here, as a hint to a peer, or both. */
  @Override
  public void onReady(Partition partition, int lane, Instant readyAt) {
    Peers peers = this.peers;
    boolean isTheirs = peers.own(lane);
    if (isTheirs || peers.share(lane)) {
      peers.hint(partition, lane, readyAt);
    }
    if (!isTheirs || peers.mayMiss(partition)) {
      found(partition, lane, readyAt);
    }
  }

  /** Adds a task that this process has seen or received a hint about. */
  public void found(Partition partition, int lane, Instant readyAt) {
    if (put(partition, lane, readyAt)) {
      workDue.raise();
    }
  }

  /**
   * Puts an entry back after a claim, without raising the signal: the claimer reads the agenda
   * again anyway, and with many lanes every claim puts most of them back. If the lane got another
   * claimer meanwhile, that one finds the entry when its timer wakes it.
   */
  public void putBack(Partition partition, int lane, Instant readyAt) {
    var _ = put(partition, lane, readyAt);
  }

  /** Adds an entry unless the lane has an earlier one; returns whether it was added. */
  private synchronized boolean put(Partition partition, int lane, Instant readyAt) {
    Map<Integer, Instant> lanes = waiting.computeIfAbsent(partition, _ -> new HashMap<>());
    Instant known = lanes.get(lane);
    boolean earlier = known == null || readyAt.isBefore(known);
    if (earlier) {
      lanes.put(lane, readyAt);
    }
    return earlier;
  }

  /**
   * Replaces the entries of one partition with the heads that a sweep has read. For lanes of peers,
   * keeps only heads that the owner is late with or may miss.
   */
  void swept(Partition partition, List<Entry> heads) {
    add(partition, heads, true);
  }

  /** Adds the heads that a sweep has read in a part of the partition. */
  void sweptPart(Partition partition, List<Entry> heads) {
    add(partition, heads, false);
  }

  private void add(Partition partition, List<Entry> heads, boolean areAll) {
    Peers peers = this.peers;
    boolean mayMiss = peers.mayMiss(partition);
    boolean earlier = false;
    synchronized (this) {
      Map<Integer, Instant> lanes = waiting.computeIfAbsent(partition, _ -> new HashMap<>());
      Set<Integer> noted = mayMiss ? Set.copyOf(lanes.keySet()) : Set.of();
      if (areAll) {
        lanes.keySet().removeIf(peers::own);
      }
      for (Entry head : heads) {
        if (!peers.own(head.lane())
            || peers.areLateWith(head.from())
            || noted.contains(head.lane())) {
          earlier |= put(partition, head.lane(), head.from());
        }
      }
      if (lanes.isEmpty()) {
        waiting.remove(partition);
      }
    }
    if (earlier) {
      workDue.raise();
    }
  }

  /**
   * Removes the entries of partitions before that one that are no longer there. A lane that nothing
   * claims from here, such as one of pull workers, would keep them, and its next claim would fail.
   */
  synchronized void removeDropped(Partition before, Set<Partition> existing) {
    waiting
        .keySet()
        .removeIf(partition -> partition.compareTo(before) < 0 && !existing.contains(partition));
  }

  /**
   * Removes and returns the entries of these lanes that are due by then. Entries that are added
   * while the claim runs are not lost, even if the result of the claim is.
   */
  public synchronized List<Entry> takeDue(Instant now, IntPredicate lanes) {
    List<Entry> due = new ArrayList<>();
    waiting.forEach(
        (partition, entries) ->
            entries.forEach(
                (lane, from) -> {
                  if (!from.isAfter(now) && lanes.test(lane)) {
                    due.add(new Entry(partition, lane, from));
                  }
                }));
    due.forEach(entry -> remove(entry.partition(), entry.lane()));
    return due;
  }

  /**
   * Removes and returns the first of the due entries, and leaves the others to concurrent callers.
   */
  synchronized Optional<Entry> takeFirstDue(
      Instant now, Predicate<Entry> which, Comparator<Entry> order) {
    Optional<Entry> first =
        waiting.entrySet().stream()
            .flatMap(
                partition ->
                    partition.getValue().entrySet().stream()
                        .map(lane -> new Entry(partition.getKey(), lane.getKey(), lane.getValue())))
            .filter(entry -> !entry.from().isAfter(now) && which.test(entry))
            .min(order);
    first.ifPresent(entry -> remove(entry.partition(), entry.lane()));
    return first;
  }

  private void remove(Partition partition, int lane) {
    Map<Integer, Instant> lanes = waiting.get(partition);
    if (lanes != null) {
      lanes.remove(lane);
      if (lanes.isEmpty()) {
        waiting.remove(partition);
      }
    }
  }

  /** The earliest entry of these lanes. */
  public synchronized @Nullable Instant earliest(IntPredicate lanes) {
    Instant earliest = null;
    for (Map<Integer, Instant> entries : waiting.values()) {
      for (Map.Entry<Integer, Instant> entry : entries.entrySet()) {
        if (lanes.test(entry.getKey())
            && (earliest == null || entry.getValue().isBefore(earliest))) {
          earliest = entry.getValue();
        }
      }
    }
    return earliest;
  }

  /** Whether a task is known to wait in this lane by then. */
  public synchronized boolean isDue(int lane, Instant time) {
    for (Map<Integer, Instant> entries : waiting.values()) {
      Instant from = entries.get(lane);
      if (from != null && !from.isAfter(time)) {
        return true;
      }
    }
    return false;
  }

  /** The partitions with an entry that is due by then. */
  synchronized Set<Partition> partitionsDueBy(Instant time) {
    Set<Partition> due = new HashSet<>();
    waiting.forEach(
        (partition, lanes) -> {
          if (lanes.values().stream().anyMatch(from -> !from.isAfter(time))) {
            due.add(partition);
          }
        });
    return due;
  }
}
