package carillon.engine;

import carillon.model.cluster.Hint;
import carillon.store.catalog.Catalog;
import carillon.store.cluster.Hints;
import carillon.store.db.StoreException;
import carillon.store.queue.Agenda;
import carillon.store.queue.WorkQueue;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Hears what other nodes tell, and has this node look at once. */
public final class Listener {

  private static final Logger log = LoggerFactory.getLogger(Listener.class);
  private static final Duration PATIENCE = Duration.ofSeconds(1);

  private final String self;
  private final Hints hints;
  private final WorkQueue queue;
  private final Catalog catalog;
  private final Agenda agenda;
  private final Agenda.Others others;
  private final Map<Hint.News, List<Runnable>> actions = new EnumMap<>(Hint.News.class);

  /**
   * @param self what hints of this process are signed with
   */
  public Listener(
      String self,
      Hints hints,
      WorkQueue queue,
      Catalog catalog,
      Agenda agenda,
      Agenda.Others others) {
    this.self = self;
    this.hints = hints;
    this.queue = queue;
    this.catalog = catalog;
    this.agenda = agenda;
    this.others = others;
    for (Hint.News each : Hint.News.values()) {
      actions.put(each, new CopyOnWriteArrayList<>());
    }
  }

  /** The loop that listens; a connection that was lost is made anew after a while. */
  public Loop loop(Consumer<String> whenFailed) {
    return new Loop("listener", this::listenOnce, whenFailed);
  }

  /** Asks to be told of this. */
  public Listener when(Hint.News news, Runnable action) {
    actions.getOrDefault(news, List.of()).add(action);
    return this;
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
    actions.getOrDefault(news, List.of()).forEach(Runnable::run);
  }

  private void heard(Hint.Due due) {
    // A partition that is not there would fail every claim from then on.
    if (queue.isOpen(due.partition()) && isKnown(due.lane()) && !others.lookAfter(due.lane())) {
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
