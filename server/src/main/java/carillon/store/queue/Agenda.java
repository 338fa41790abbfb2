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
 * What this process knows to be waiting: per partition and lane, a time before which nothing is. A
 * hint and nothing more: what it misses, the sweep finds; what it has too much, costs an empty
 * claim.
 *
 * <p>It is also the cursor of each lane. A claim starts at the time noted here and not at the head
 * of the lane, where, while somebody holds an old snapshot, every entry claimed since then is still
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

  /** A lane of a partition, and the time from which something waits in it. */
  public record Entry(Partition partition, int lane, Instant from) {}

  /** The other nodes, each with lanes to look after. */
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
            throw new IllegalStateException("there is nobody");
          }
        };

    /**
     * Whether one of them looks after this lane, and not this node. Never so of a lane of workers,
     * nor of one that this process does not know.
     */
    boolean own(int lane);

    /** Whether they look after this lane as well as this node: workers may ask any. */
    boolean share(int lane);

    /** Whether they should have taken what waits since then. */
    boolean areLateWith(Instant head);

    /**
     * Whether they look into this partition so seldom that what is noted in it here has to stay.
     */
    boolean mayMiss(Partition partition);

    /** Tells them of something new in a lane that they look after. */
    void hint(Partition partition, int lane, Instant readyAt);
  }

  /** From now on they are told what is new in their lanes, and only what they leave is kept. */
  public void shareWith(Peers peers) {
    this.peers = peers;
  }

  /** Something new waits there from then on: whoever looks after the lane is to know. */
  @Override
  public void note(Partition partition, int lane, Instant readyAt) {
    Peers peers = this.peers;
    boolean isTheirs = peers.own(lane);
    if (isTheirs || peers.share(lane)) {
      peers.hint(partition, lane, readyAt);
    }
    if (!isTheirs || peers.mayMiss(partition)) {
      found(partition, lane, readyAt);
    }
  }

  /** This process has seen, or was told, that something waits there from then on. */
  public void found(Partition partition, int lane, Instant readyAt) {
    if (isEarlier(partition, lane, readyAt)) {
      workDue.raise();
    }
  }

  /**
   * What was taken is waiting still, or something behind it: no news to anybody but whoever took
   * it, who looks again by himself. With many lanes most are put back by every claim. Where the
   * lane has got another claimer meanwhile, that one finds it when it wakes by itself.
   */
  public void putBack(Partition partition, int lane, Instant readyAt) {
    var _ = isEarlier(partition, lane, readyAt);
  }

  private synchronized boolean isEarlier(Partition partition, int lane, Instant readyAt) {
    Map<Integer, Instant> lanes = waiting.computeIfAbsent(partition, _ -> new HashMap<>());
    Instant known = lanes.get(lane);
    boolean earlier = known == null || readyAt.isBefore(known);
    if (earlier) {
      lanes.put(lane, readyAt);
    }
    return earlier;
  }

  /**
   * A sweep has seen the first of each lane of a partition. Of lanes that others look after it is
   * the whole truth, and only what they have left waiting is worth knowing, and what they may miss.
   */
  void swept(Partition partition, List<Entry> heads) {
    Peers peers = this.peers;
    boolean mayMiss = peers.mayMiss(partition);
    boolean earlier = false;
    synchronized (this) {
      Map<Integer, Instant> lanes = waiting.computeIfAbsent(partition, _ -> new HashMap<>());
      Set<Integer> noted = mayMiss ? Set.copyOf(lanes.keySet()) : Set.of();
      lanes.keySet().removeIf(peers::own);
      for (Entry head : heads) {
        if (!peers.own(head.lane())
            || peers.areLateWith(head.from())
            || noted.contains(head.lane())) {
          earlier |= isEarlier(partition, head.lane(), head.from());
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
   * Takes the entries that are due by then, in these lanes. They are gone until noted again, so
   * that what is noted while a claim runs is not lost when its result is.
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
   * Takes the first of the entries that are due by then, and leaves the others to whoever else
   * looks for work.
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

  /** The earliest time noted for these lanes. */
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

  /** The partitions in which something is known to be due by then. */
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
