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

/** Receives the hints of other nodes, and wakes the parts of this node that they concern. */
public final class HintListener {

  private static final Logger log = LoggerFactory.getLogger(HintListener.class);
  private static final Duration MAX_WAIT = Duration.ofSeconds(1);

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
  public HintListener(String self, Hints hints, Memory memory, Agenda.Peers peers) {
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

  /** The loop that listens. It reconnects after a failure. */
  public Loop loop(Consumer<String> onFailure) {
    return new Loop("listener", this::listenOnce, onFailure);
  }

  /** One pass. */
  Duration listenOnce() {
    if (hints.listen()) {
      for (Hint.News each : Hint.News.values()) {
        received(each); // hints sent before were missed
      }
    }
    for (Hint hint : hints.await(MAX_WAIT)) {
      if (!hint.from().equals(self)) {
        hint.news().forEach(this::received);
        hint.due().forEach(this::received);
      }
    }
    return Duration.ZERO;
  }

  private void received(Hint.News news) {
    Objects.requireNonNull(signals.get(news)).raise();
  }

  private void received(Hint.Due due) {
    // An entry for a partition that does not exist would make every claim fail.
    if (sweep.isOpen(due.partition()) && isKnown(due.lane()) && !peers.own(due.lane())) {
      agenda.found(due.partition(), due.lane(), due.readyAt());
    }
  }

  /** Reads the lane if it is new: another node may have created it a moment ago. */
  private boolean isKnown(int lane) {
    try {
      return catalog.lane(lane).id() == lane;
    } catch (StoreException e) {
      log.debug("ignored hint for unknown lane lane={} error={}", lane, e.toString());
      return false;
    }
  }
}
