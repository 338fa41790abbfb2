package carillon.engine;

import carillon.model.Pass;
import carillon.model.cluster.NodeLease;
import carillon.store.queue.Claims;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives back what this node holds in the database and does not run: claims that were committed and
 * whose answer was lost on the way, and what an outcome was dropped of.
 */
final class LostClaims {

  private static final Logger log = LoggerFactory.getLogger(LostClaims.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final int QUIET_PASSES = 10;

  private final Claims claims;
  private final Supplier<NodeLease> node;
  private final Predicate<UUID> isKnown;
  private final ReapDecision verdict;
  private final Consumer<EngineEvent> events;
  private volatile BooleanSupplier mayBeNew = () -> true;
  private boolean isSomethingHeld; // these two of this loop's thread only
  private int passedOver;

  /**
   * @param isKnown whether this node knows of a claim that it holds in the database
   */
  LostClaims(
      Claims claims,
      Supplier<NodeLease> node,
      Predicate<UUID> isKnown,
      ReapDecision verdict,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.node = node;
    this.isKnown = isKnown;
    this.verdict = verdict;
    this.events = events;
  }

  /**
   * While that is not so and nothing was held at the last look, there is nothing to find; it is
   * looked for now and then all the same.
   */
  void lookWhile(BooleanSupplier mayBeNew) {
    this.mayBeNew = mayBeNew;
  }

  /** One pass. */
  Pass findOnce() {
    NodeLease lease = node.get();
    if (!lease.isTrusted(System.nanoTime())) {
      return Pass.skipped(INTERVAL); // they may be somebody else's by now
    }
    boolean isQuiet = !isSomethingHeld && !mayBeNew.getAsBoolean();
    if (isQuiet && ++passedOver < QUIET_PASSES) {
      return Pass.skipped(INTERVAL);
    }
    passedOver = 0;
    List<Claims.Silent> held = claims.ofNode(lease.node());
    isSomethingHeld = !held.isEmpty();
    int found = 0;
    for (Claims.Silent claim : held) {
      if (!isKnown.test(claim.claim())) {
        found += giveBack(claim);
      }
    }
    if (found > 0) {
      log.info("found tasks={} claimed here that nobody ran", found);
      events.accept(new EngineEvent.Reaped(found, 0));
    }
    return Pass.done(INTERVAL);
  }

  /** One that cannot be given back must not keep the others. */
  private int giveBack(Claims.Silent claim) {
    try {
      return claims.reap(claim, verdict::of).states().size();
    } catch (RuntimeException e) {
      log.warn("cannot give back claim={} error={}", claim.claim(), e.toString());
      return 0;
    }
  }
}
