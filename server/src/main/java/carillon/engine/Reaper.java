package carillon.engine;

import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.Outcome;
import carillon.store.Claims;
import carillon.store.DbClock;
import carillon.store.Nodes;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes back what silent owners hold, and ends what was not started in time. Harmless on several
 * nodes at once.
 */
final class Reaper {

  private static final Logger log = LoggerFactory.getLogger(Reaper.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration NODE_SHOWN_FOR = Duration.ofMinutes(10);
  private static final int MAX_CLAIMS = 50;
  private static final int MAX_EXPIRED = 2_000;

  private static final Failure LOST =
      Failure.of(
          FailureKind.LEASE_LOST,
          "whoever ran this attempt went silent; how far it got is not known");

  private final Claims claims;
  private final WorkQueue queue;
  private final Nodes nodes;
  private final DbClock clock;
  private final Consumer<EngineEvent> events;

  Reaper(Claims claims, WorkQueue queue, Nodes nodes, DbClock clock, Consumer<EngineEvent> events) {
    this.claims = claims;
    this.queue = queue;
    this.nodes = nodes;
    this.clock = clock;
    this.events = events;
  }

  /** One pass. Returns zero if there was more than it took on. */
  Duration reapOnce() {
    List<Claims.Lapsed> lapsed = claims.lapsed(MAX_CLAIMS);
    int reaped = 0;
    for (Claims.Lapsed claim : lapsed) {
      reaped +=
          claims.reap(claim, claim.tasks().stream().map(this::outcome).toList()).states().size();
    }
    if (reaped > 0) {
      log.info("took back tasks={} claims={}", reaped, lapsed.size());
      events.accept(new EngineEvent.Reaped(reaped));
    }
    int expired = queue.expireDue(clock.instant(), MAX_EXPIRED);
    if (expired > 0) {
      events.accept(new EngineEvent.Expired(expired));
    }
    nodes.forgetLapsed(NODE_SHOWN_FOR);
    boolean isMore = lapsed.size() >= MAX_CLAIMS || expired >= MAX_EXPIRED;
    return isMore ? Duration.ZERO : INTERVAL;
  }

  /** The attempt counts: it may be what silenced its owner. */
  private Outcome outcome(Claims.Held held) {
    return held.retry()
        .afterFailure(
            held.attempt(), held.dueAt(), LOST, null, clock.instant(), ThreadLocalRandom.current());
  }
}
