package carillon.engine;

import carillon.model.Signal;
import carillon.model.cluster.Hint;
import carillon.store.Memory;
import carillon.store.catalog.Catalog;
import carillon.store.cluster.Hints;
import carillon.store.db.StoreException;
import carillon.store.queue.Agenda;
import carillon.store.queue.QueueSweep;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hears what other nodes tell, and has this node look at once. */
public final class Listener {

  private static final Logger log = LoggerFactory.getLogger(Listener.class);
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final String self;
  private final Hints hints;
  private final QueueSweep sweep;
  private final Catalog catalog;
  private final Agenda agenda;
  private final Agenda.Peers peers;
  private final Map<Hint.News, Signal> signals;

  /**
   * @param self the sender of this process's own hints, which it ignores
   */
  public Listener(String self, Hints hints, Memory memory, Agenda.Peers peers) {
    this.self = self;
    this.hints = hints;
    this.sweep = memory.sweep();
    this.catalog = memory.catalog();
    this.agenda = memory.agenda();
    this.peers = peers;
    this.signals =
        Map.of(
            Hint.News.MEMBERS,
            memory.signals().membersChanged(),
            Hint.News.SHARDS,
            memory.signals().shardsHinted(),
            Hint.News.SCHEDULES,
            memory.signals().scheduleHinted());
  }

  /** The loop that listens; a connection that was lost is made anew after a while. */
  public Loop loop(Consumer<String> whenFailed) {
    return new Loop("listener", this::listenOnce, whenFailed);
  }

  /** One pass. */
  Duration listenOnce() {
    if (hints.listen()) {
      for (Hint.News each : Hint.News.values()) {
        heard(each); // whatever was said before, nobody heard
      }
    }
    for (Hint hint : hints.await(PATIENCE)) {
      if (!hint.from().equals(self)) {
        hint.news().forEach(this::heard);
        hint.due().forEach(this::heard);
      }
    }
    return Duration.ZERO;
  }

  private void heard(Hint.News news) {
    Objects.requireNonNull(signals.get(news)).raise();
  }

  private void heard(Hint.Due due) {
    // A partition that is not there would fail every claim from then on.
    if (sweep.isOpen(due.partition()) && isKnown(due.lane()) && !peers.own(due.lane())) {
      agenda.found(due.partition(), due.lane(), due.readyAt());
    }
  }

  /** Another node may have made the lane a moment ago. */
  private boolean isKnown(int lane) {
    try {
      return catalog.lane(lane).id() == lane;
    } catch (StoreException e) {
      log.debug("heard of something that is not there lane={} error={}", lane, e.toString());
      return false;
    }
  }
}
