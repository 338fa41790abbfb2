package carillon.engine;

import carillon.model.Partition;
import carillon.model.Pass;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Hint;
import carillon.store.catalog.Catalog;
import carillon.store.queue.Agenda;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Sends hints to other nodes: tasks that are due in their lanes, which they would otherwise find by
 * their next sweep, and changes of the cluster. Hints gather while earlier ones are being sent.
 */
public final class Announcer implements Agenda.Peers {

  /** Pause between two batches of hints. */
  static final Duration SEND_PAUSE = Duration.ofMillis(20);

  /** Tasks due later than this are found by a sweep in time, in any partition. */
  private static final Duration SOON = Duration.ofMinutes(1);

  /** Hints per batch, to bound the load on other nodes; they find the rest by their next sweep. */
  private static final int MAX_HINTS = 10;

  /**
   * Older partitions may not be read by every sweep. One hour less than a day, so that a partition
   * counts as old before the sweeps skip it. Partitions of a day that does not begin {@link #SOON}
   * are skipped, too.
   */
  private static final Duration ALWAYS_SWEPT = Duration.ofHours(23);

  /** The owner of a lane claims due tasks at once; it is late with tasks that wait this long. */
  private static final Duration LATE_AFTER = Duration.ofMillis(250);

  private static final Duration IDLE = Duration.ofMinutes(1);

  private final String self;
  private final Catalog catalog;
  private final Supplier<ClusterView> view;
  private final InstantSource clock;
  private final Consumer<Hint> send;
  private volatile Runnable onAdded = () -> {};
  private volatile boolean disowned;

  // Guarded by this.
  private final Map<Place, Instant> due = new HashMap<>();
  private final Set<Hint.News> news = EnumSet.noneOf(Hint.News.class);

  private record Place(Partition partition, int lane) {}

  /**
   * @param self the sender of the hints, so that this process can ignore its own
   * @param view the lanes that this node owns, and whether it has peers
   */
  public Announcer(
      String self,
      Catalog catalog,
      Supplier<ClusterView> view,
      InstantSource clock,
      Consumer<Hint> send) {
    this.self = self;
    this.catalog = catalog;
    this.view = view;
    this.clock = clock;
    this.send = send;
  }

  /** The loop that sends the hints. */
  public Loop loop(Consumer<String> onFailure) {
    Loop loop = Loop.of("announcer", this::announceOnce, SEND_PAUSE, onFailure);
    onAdded = loop::wake;
    return loop;
  }

  /** From now on this node owns no lanes: the tasks that it releases are hinted to peers. */
  public void disownLanes() {
    disowned = true;
  }

  @Override
  public boolean own(int lane) {
    return (disowned || !view.get().isOurs(lane)) && catalog.isPushed(lane);
  }

  @Override
  public boolean share(int lane) {
    return !view.get().isAlone() && !catalog.isPushed(lane);
  }

  /** False for a node without shards: it does not help other nodes, so it needs no entries. */
  @Override
  public boolean mayMiss(Partition partition) {
    Instant now = clock.instant();
    boolean isOld = partition.compareTo(Partition.of(now.minus(ALWAYS_SWEPT))) < 0;
    boolean isAhead = partition.compareTo(Partition.of(now.plus(SOON))) > 0;
    return view.get().count() > 0 && (isOld || isAhead);
  }

  @Override
  public boolean areLateWith(Instant head) {
    return head.isBefore(clock.instant().minus(LATE_AFTER));
  }

  @Override
  public void hint(Partition partition, int lane, Instant readyAt) {
    if (readyAt.isAfter(clock.instant().plus(SOON))) {
      return;
    }
    synchronized (this) {
      due.merge(new Place(partition, lane), readyAt, (a, b) -> a.isBefore(b) ? a : b);
    }
    onAdded.run();
  }

  /** Announces a change to all nodes. */
  public void announce(Hint.News what) {
    synchronized (this) {
      news.add(what);
    }
    onAdded.run();
  }

  /** One pass. Hints that cannot be sent are dropped: peers find the work before a retry. */
  public Pass announceOnce() {
    List<Hint> hints = take();
    hints.forEach(send);
    return new Pass(IDLE, !hints.isEmpty());
  }

  /** Earliest due first. */
  private synchronized List<Hint> take() {
    List<Hint.Due> listed =
        due.entrySet().stream()
            .sorted(Map.Entry.comparingByValue())
            .limit(MAX_HINTS * Hint.MAX_DUE)
            .map(
                each ->
                    new Hint.Due(each.getKey().partition(), each.getKey().lane(), each.getValue()))
            .toList();
    List<Hint> hints = new ArrayList<>();
    for (int from = 0; from < listed.size() || !news.isEmpty(); from += Hint.MAX_DUE) {
      int to = Math.min(listed.size(), from + Hint.MAX_DUE);
      hints.add(new Hint(self, news, listed.subList(from, to)));
      news.clear();
    }
    due.clear();
    return hints;
  }
}
