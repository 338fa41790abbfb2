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
 * Tells other nodes what they would otherwise find by their next sweep: what is due in their lanes,
 * and that the cluster has changed. While hints are on their way the next gather.
 */
public final class Announcer implements Agenda.Peers {

  /** Between two times that something is told. */
  static final Duration GATHERING = Duration.ofMillis(20);

  /** What is due later is found by a sweep in time, whichever partition it is in. */
  private static final Duration SOON = Duration.ofMinutes(1);

  /** At a time: others can take in only so much, and find the rest by their next sweep. */
  private static final int MOST_HINTS = 10;

  /**
   * Partitions of an earlier time are not looked at by every sweep, an hour before that is so, nor
   * those of a day that is not to begin {@link #SOON}.
   */
  private static final Duration LOOKED_AT = Duration.ofHours(23);

  /** Whoever looks after a lane takes what is due at once; what waits for so long is left. */
  private static final Duration LEFT_AFTER = Duration.ofMillis(250);

  private static final Duration IDLE = Duration.ofMinutes(1);

  private final String self;
  private final Catalog catalog;
  private final Supplier<ClusterView> view;
  private final InstantSource clock;
  private final Consumer<Hint> send;
  private volatile Runnable whenAdded = () -> {};
  private volatile boolean stopping;

  // Guarded by this.
  private final Map<Place, Instant> due = new HashMap<>();
  private final Set<Hint.News> news = EnumSet.noneOf(Hint.News.class);

  private record Place(Partition partition, int lane) {}

  /**
   * @param self names this process, so that it can leave out what it hears from itself
   * @param view which lanes this node looks after, and whether there is anybody to tell
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

  /** The loop that sends what is to be told. */
  public Loop loop(Consumer<String> whenFailed) {
    Loop loop = Loop.of("announcer", this::announceOnce, GATHERING, whenFailed);
    whenAdded = loop::wake;
    return loop;
  }

  /** From now on this node looks after nothing: what it gives back is for peers. */
  public void stopping() {
    stopping = true;
  }

  @Override
  public boolean own(int lane) {
    return (stopping || !view.get().isOurs(lane)) && catalog.isPushed(lane);
  }

  @Override
  public boolean share(int lane) {
    return !view.get().isAlone() && !catalog.isPushed(lane);
  }

  /** Who looks after nothing does not help either, and has nobody to keep it for. */
  @Override
  public boolean mayMiss(Partition partition) {
    Instant now = clock.instant();
    boolean isOld = partition.compareTo(Partition.of(now.minus(LOOKED_AT))) < 0;
    boolean isAhead = partition.compareTo(Partition.of(now.plus(SOON))) > 0;
    return view.get().count() > 0 && (isOld || isAhead);
  }

  @Override
  public boolean areLateWith(Instant head) {
    return head.isBefore(clock.instant().minus(LEFT_AFTER));
  }

  @Override
  public void hint(Partition partition, int lane, Instant readyAt) {
    if (readyAt.isAfter(clock.instant().plus(SOON))) {
      return;
    }
    synchronized (this) {
      due.merge(new Place(partition, lane), readyAt, (a, b) -> a.isBefore(b) ? a : b);
    }
    whenAdded.run();
  }

  /** Something changed for everybody. */
  public void tell(Hint.News what) {
    synchronized (this) {
      news.add(what);
    }
    whenAdded.run();
  }

  /** One pass. What cannot be sent is forgotten: by the next time they will have found it. */
  public Pass announceOnce() {
    List<Hint> hints = take();
    hints.forEach(send);
    return new Pass(IDLE, !hints.isEmpty());
  }

  /** What is due first comes first. */
  private synchronized List<Hint> take() {
    List<Hint.Due> listed =
        due.entrySet().stream()
            .sorted(Map.Entry.comparingByValue())
            .limit(MOST_HINTS * Hint.MOST_DUE)
            .map(
                each ->
                    new Hint.Due(each.getKey().partition(), each.getKey().lane(), each.getValue()))
            .toList();
    List<Hint> hints = new ArrayList<>();
    for (int from = 0; from < listed.size() || !news.isEmpty(); from += Hint.MOST_DUE) {
      int to = Math.min(listed.size(), from + Hint.MOST_DUE);
      hints.add(new Hint(self, news, listed.subList(from, to)));
      news.clear();
    }
    due.clear();
    return hints;
  }
}
