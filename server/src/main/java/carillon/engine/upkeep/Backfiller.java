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
 * Takes the next step of each backfill that is under way. Harmless on several nodes at once: a step
 * is taken under the backfill's lock.
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

  /** One pass. Returns zero if one of them has a further step. */
  public Duration backfillOnce() {
    boolean isMore = false;
    for (UUID each : steps.open(MAX_BATCH)) {
      isMore |= !step(each);
    }
    return isMore ? Duration.ZERO : INTERVAL;
  }

  /** Says whether it is over for now. One that cannot be filled must not keep the others. */
  private boolean step(UUID id) {
    try {
      BackfillSteps.Step step = steps.take(id);
      events.accept(new EngineEvent.Backfilled(step.made()));
      return step.isOver();
    } catch (RuntimeException e) {
      if (e instanceof StoreException store && store.isStaleTerm()) {
        throw e; // it is another's turn
      }
      log.warn("cannot backfill backfill={} error={}", id, e.toString());
      steps.postpone(id); // throws if it is the database that cannot be reached
      return true;
    }
  }
}
