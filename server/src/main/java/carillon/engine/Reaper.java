package carillon.engine;

import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.NodeLease;
import carillon.model.Outcome;
import carillon.model.Silence;
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
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes back what silent owners hold. Harmless on several nodes at once. */
final class Reaper {

  private static final Logger log = LoggerFactory.getLogger(Reaper.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final Duration NODE_SHOWN_FOR = Duration.ofMinutes(10);
  private static final int MAX_CLAIMS = 200;

  /** How long others may take to come back after the database was away from all of us. */
  private static final Duration PATIENCE = Duration.ofSeconds(3);

  private static final Failure LOST =
      Failure.of(
          FailureKind.LEASE_LOST,
          "whoever ran this attempt went silent; how far it got is not known");
  private static final Failure CUT_OFF =
      Failure.of(
          FailureKind.LEASE_LOST,
          "the node that ran this attempt lost the database for longer than its lease; how far it"
              + " got is not known");
  private static final Failure STOPPED =
      Failure.of(
          FailureKind.SHUTDOWN,
          "the node was stopped and could not write down how the attempt ended");
  private static final Failure CRASHED =
      Failure.of(
          FailureKind.CRASHED, "the node that ran this attempt died; how far it got is not known");

  private final Claims claims;
  private final Nodes nodes;
  private final DbClock clock;
  private final Supplier<NodeLease> node;
  private final Predicate<UUID> isKnown;
  private final int poisonCrashes;
  private final Consumer<EngineEvent> events;
  private @Nullable String knownAs; // these two of this loop's thread only
  private long patientUntil;

  /**
   * @param isKnown whether this node knows of a claim that it holds in the database
   * @param poisonCrashes a task that so many nodes died of is dead
   */
  Reaper(
      Claims claims,
      Nodes nodes,
      DbClock clock,
      Supplier<NodeLease> node,
      Predicate<UUID> isKnown,
      int poisonCrashes,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.nodes = nodes;
    this.clock = clock;
    this.node = node;
    this.isKnown = isKnown;
    this.poisonCrashes = poisonCrashes;
    this.events = events;
  }

  /** One pass. Returns zero if there was more than it took on. */
  Duration reapOnce() {
    if (isCutOff(node.get(), System.nanoTime())) {
      return INTERVAL;
    }
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
   * Who was cut off itself must not take the others for dead, nor when it has just come back: they
   * come back as well, one after the other.
   */
  private boolean isCutOff(NodeLease lease, long now) {
    if (!lease.node().equals(knownAs)) {
      patientUntil = knownAs == null ? now : now + PATIENCE.toNanos();
      knownAs = lease.node();
    }
    return !lease.isTrusted(now) || now - patientUntil < 0;
  }

  /**
   * Claims that were committed, but whose answer was lost on the way: nobody runs what they hold.
   */
  private List<Claims.Silent> unknownOfOurs() {
    return claims.ofNode(node.get().node()).stream()
        .filter(claim -> !isKnown.test(claim.claim()))
        .toList();
  }

  /** The attempt counts, unless it is known not to have begun or its node was only stopped. */
  private Outcome outcome(Claims.Held held, Silence silence) {
    int crashes = held.crashes() + 1;
    if (silence.blamed() && crashes >= poisonCrashes) {
      return new Outcome.Dead(
          Failure.of(
              FailureKind.POISON, crashes + " nodes died while they ran it: it is not tried again"),
          false);
    }
    Failure failure =
        switch (silence.holder()) {
          case SILENT -> LOST;
          case LEFT -> STOPPED;
          case CUT_OFF -> CUT_OFF;
          case DIED -> CRASHED;
        };
    if (!silence.begun() || silence.holder() == Silence.Holder.LEFT) {
      return new Outcome.Released(failure);
    }
    return held.retry()
        .afterFailure(
            held.attempt(),
            held.dueAt(),
            failure,
            null,
            clock.instant(),
            ThreadLocalRandom.current());
  }
}
