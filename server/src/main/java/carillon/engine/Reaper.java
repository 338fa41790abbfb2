package carillon.engine;

import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.NodeLease;
import carillon.model.Outcome;
import carillon.store.Claims;
import carillon.store.DbClock;
import carillon.store.Nodes;
import carillon.store.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes back what silent owners hold. Harmless on several nodes at once. */
final class Reaper {

  private static final Logger log = LoggerFactory.getLogger(Reaper.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration NODE_SHOWN_FOR = Duration.ofMinutes(10);
  private static final int MAX_CLAIMS = 200;

  private static final Failure LOST =
      Failure.of(
          FailureKind.LEASE_LOST,
          "whoever ran this attempt went silent; how far it got is not known");

  private final Claims claims;
  private final Nodes nodes;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Predicate<UUID> isKnown;
  private final Consumer<EngineEvent> events;

  /**
   * @param isKnown whether this node knows of a claim that it holds in the database
   */
  Reaper(
      Claims claims,
      Nodes nodes,
      DbClock clock,
      Supplier<NodeLease> node,
      Predicate<UUID> isKnown,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.nodes = nodes;
    this.clock = clock;
    this.node = node;
    this.isKnown = isKnown;
    this.events = events;
  }

  /** One pass. Returns zero if there was more than it took on. */
  Duration reapOnce() {
    List<Claims.Silent> lapsed = claims.lapsed(MAX_CLAIMS);
    List<Claims.Silent> silent = new ArrayList<>(lapsed);
    silent.addAll(unknownOfOurs());
    int reaped = 0;
    int failed = 0;
    for (Claims.Silent claim : silent) {
      try {
        reaped += claims.reap(claim, this::outcome).states().size();
      } catch (StoreException e) {
        failed++; // one that cannot be reaped must not keep the others
        log.warn("cannot reap claim={} error={}", claim.claim(), e.toString());
      }
    }
    if (reaped > 0) {
      log.info("took back tasks={} claims={}", reaped, silent.size());
      events.accept(new EngineEvent.Reaped(reaped));
    }
    nodes.forgetLapsed(NODE_SHOWN_FOR);
    return lapsed.size() >= MAX_CLAIMS && failed == 0 ? Duration.ZERO : INTERVAL;
  }

  /**
   * Claims that were committed, but whose answer was lost on the way: nobody runs what they hold.
   */
  private List<Claims.Silent> unknownOfOurs() {
    return claims.ofNode(node.get().node()).stream()
        .filter(claim -> !isKnown.test(claim.claim()))
        .toList();
  }

  /** The attempt counts: it may be what silenced its owner. */
  private Outcome outcome(Claims.Held held) {
    return held.retry()
        .afterFailure(
            held.attempt(), held.dueAt(), LOST, null, clock.instant(), ThreadLocalRandom.current());
  }
}
