package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.store.db.StoreException;
import carillon.store.schedules.BackfillSteps;
import java.time.Duration;
import java.util.UUID;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the next step of each open backfill. Safe on several nodes at once: a step holds the
 * backfill's lock.
 */
public final class Backfiller {

  private static final Logger log = LoggerFactory.getLogger(Backfiller.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final int MAX_BATCH = 100;

  private final BackfillSteps steps;
  private final Consumer<EngineEvent> events;

  public Backfiller(BackfillSteps steps, Consumer<EngineEvent> events) {
    this.steps = steps;
    this.events = events;
  }

  /** One pass. Returns zero if a backfill has a further step. */
  public Duration backfillOnce() {
    boolean hasMore = false;
    for (UUID each : steps.open(MAX_BATCH)) {
      hasMore |= !step(each);
    }
    return hasMore ? Duration.ZERO : INTERVAL;
  }

  /** Returns whether the backfill is over for now. One that fails must not block the others. */
  private boolean step(UUID id) {
    try {
      BackfillSteps.Step step = steps.take(id);
      events.accept(new EngineEvent.Backfilled(step.created()));
      return step.isOver();
    } catch (RuntimeException e) {
      if (e instanceof StoreException store && store.isStaleTerm()) {
        throw e; // the next leader continues
      }
      log.warn("cannot backfill backfill={} error={}", id, e.toString());
      steps.postpone(id); // throws if the database is unreachable
      return true;
    }
  }
}
