package carillon.engine.upkeep;

import carillon.store.db.StoreException;
import carillon.store.deadletters.Redrives;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the next step of each open redrive or undo. Safe on several nodes at once: a step holds the
 * redrive's lock.
 */
final class Redriver {

  private static final Logger log = LoggerFactory.getLogger(Redriver.class);

  /** Not woken: a new redrive waits for the next pass. */
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  private static final int MAX_BATCH = 100;

  private final Redrives redrives;

  Redriver(Redrives redrives) {
    this.redrives = redrives;
  }

  /** One pass. Returns the wait until the first next step. */
  Duration redriveOnce() {
    List<Redrives.Open> open = redrives.open(MAX_BATCH);
    Duration wait = INTERVAL;
    for (Redrives.Open each : open) {
      Optional<Duration> next = step(each);
      if (next.isPresent() && next.get().compareTo(wait) < 0) {
        wait = next.get();
      }
    }
    return wait;
  }

  /** A redrive that fails must not block the others. */
  private Optional<Duration> step(Redrives.Open open) {
    try {
      return redrives.step(open);
    } catch (RuntimeException e) {
      if (e instanceof StoreException store && store.isStaleTerm()) {
        throw e; // the next leader continues
      }
      log.warn("cannot redrive redrive={} error={}", open.id(), e.toString());
      redrives.postpone(open); // throws if the database is unreachable
      return Optional.empty();
    }
  }
}
