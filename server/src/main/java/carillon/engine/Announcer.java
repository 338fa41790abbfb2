package carillon.engine;

import carillon.model.Hint;
import carillon.model.Slot;
import carillon.store.Agenda;
import carillon.store.Catalog;
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
import java.util.function.IntPredicate;

/**
 * Tells other nodes what they would otherwise find by their next sweep: what is due in their lanes,
 * and that the cluster has changed. While one hint is on its way the next gathers.
 */
public final class Announcer implements Agenda.Others {

  /** Between two hints. */
  static final Duration GATHERING = Duration.ofMillis(20);

  /** What is due later is found by a sweep in time. */
  private static final Duration SOON = Duration.ofSeconds(2);

  /** Whoever looks after a lane takes what is due at once; what waits for so long is left. */
  private static final Duration LEFT_AFTER = Duration.ofMillis(250);

  private static final Duration IDLE = Duration.ofMinutes(1);

  private final String self;
  private final Catalog catalog;
  private final IntPredicate isOurs;
  private final InstantSource clock;
  private final Consumer<Hint> send;
  private volatile Runnable whenAdded = () -> {};
  private volatile boolean stopping;

  // Guarded by this.
  private final Map<Place, Instant> due = new HashMap<>();
  private final Set<Hint.News> news = EnumSet.noneOf(Hint.News.class);

  private record Place(Slot slot, int lane) {}

  /**
   * @param self names this process, so that it can leave out what it hears from itself
   * @param isOurs which lanes this node looks after
   */
  public Announcer(
      String self, Catalog catalog, IntPredicate isOurs, InstantSource clock, Consumer<Hint> send) {
    this.self = self;
    this.catalog = catalog;
    this.isOurs = isOurs;
    this.clock = clock;
    this.send = send;
  }

  /** The loop that sends what is to be told. */
  public Loop loop(Consumer<String> whenFailed) {
    Loop loop = new Loop("announcer", this::announceOnce, GATHERING, whenFailed);
    whenAdded = loop::wake;
    return loop;
  }

  /** From now on this node looks after nothing: what it gives back is for others. */
  public void stopping() {
    stopping = true;
  }

  /** Workers may ask any node, so their lanes are everybody's. */
  @Override
  public boolean lookAfter(int lane) {
    return (stopping || !isOurs.test(lane)) && catalog.isPushed(lane);
  }

  @Override
  public boolean haveLeft(Instant head) {
    return head.isBefore(clock.instant().minus(LEFT_AFTER));
  }

  @Override
  public void hear(Slot slot, int lane, Instant readyAt) {
    if (readyAt.isAfter(clock.instant().plus(SOON))) {
      return;
    }
    synchronized (this) {
      due.merge(new Place(slot, lane), readyAt, (a, b) -> a.isBefore(b) ? a : b);
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
  public Duration announceOnce() {
    Hint hint = take();
    if (!hint.news().isEmpty() || !hint.due().isEmpty()) {
      send.accept(hint);
    }
    return IDLE;
  }

  private synchronized Hint take() {
    List<Hint.Due> listed = new ArrayList<>();
    if (due.size() > Hint.MOST_DUE) {
      news.add(Hint.News.MUCH);
    } else {
      due.forEach((place, at) -> listed.add(new Hint.Due(place.slot(), place.lane(), at)));
    }
    Hint hint = new Hint(self, news, listed);
    due.clear();
    news.clear();
    return hint;
  }
}
