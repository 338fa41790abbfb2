package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.store.queue.Expiry;
import java.time.Duration;
import java.util.function.Consumer;

/**
 * Ends tasks that were not started before they expired, and running tasks that were cancelled in
 * SQL. Safe on several nodes at once.
 */
public final class Expirer {

  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final int MAX_BATCH = 2_000;

  private final Expiry expiry;
  private final Consumer<EngineEvent> events;

  public Expirer(Expiry expiry, Consumer<EngineEvent> events) {
    this.expiry = expiry;
    this.events = events;
  }

  /** One pass. Returns zero if there may be more. */
  public Duration expireOnce() {
    int expired = expiry.expireDue(MAX_BATCH);
    if (expired > 0) {
      events.accept(new EngineEvent.Expired(expired));
    }
    int cancelled = expiry.applyCancelRequests(MAX_BATCH);
    return expired >= MAX_BATCH || cancelled == MAX_BATCH ? Duration.ZERO : INTERVAL;
  }
}
