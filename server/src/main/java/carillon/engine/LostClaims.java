package carillon.engine;

import carillon.model.Pass;
import carillon.model.cluster.NodeLease;
import carillon.store.queue.HeldClaims;
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
 * Reclaims tasks that this node holds in the database and does not run: a claim whose commit
 * response was lost, or a task whose outcome was dropped.
 */
final class LostClaims {

  private static final Logger log = LoggerFactory.getLogger(LostClaims.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);
  private static final int QUIET_PASSES = 10;

  private final HeldClaims claims;
  private final Supplier<NodeLease> node;
  private final Predicate<UUID> isKnown;
  private final ReapDecision decision;
  private final Consumer<EngineEvent> events;
  private volatile BooleanSupplier mayBeNew = () -> true;
  // The next two are used by the loop's thread only.
  private boolean isSomethingHeld;
  private int passedOver;

  /**
   * @param isKnown whether this node knows of a claim that it holds in the database
   */
  LostClaims(
      HeldClaims claims,
      Supplier<NodeLease> node,
      Predicate<UUID> isKnown,
      ReapDecision decision,
      Consumer<EngineEvent> events) {
    this.claims = claims;
    this.node = node;
    this.isKnown = isKnown;
    this.decision = decision;
    this.events = events;
  }

  /**
   * While this returns false and nothing was held in the last pass, only every tenth pass queries
   * the database.
   */
  void searchWhile(BooleanSupplier mayBeNew) {
    this.mayBeNew = mayBeNew;
  }

  /** One pass. */
  Pass findOnce() {
    NodeLease lease = node.get();
    if (!lease.isTrusted(System.nanoTime())) {
      return Pass.skipped(INTERVAL); // other nodes may hold the tasks by now
    }
    boolean isQuiet = !isSomethingHeld && !mayBeNew.getAsBoolean();
    if (isQuiet && ++passedOver < QUIET_PASSES) {
      return Pass.skipped(INTERVAL);
    }
    passedOver = 0;
    long began = System.nanoTime();
    List<HeldClaims.Lost> held = claims.ofNode(lease.node());
    // While a snapshot is held, it reads each claim that the node has ended since.
    Duration rest = Sweeper.restAfter(Duration.ofNanos(System.nanoTime() - began));
    isSomethingHeld = !held.isEmpty();
    int found = 0;
    for (HeldClaims.Lost claim : held) {
      if (!isKnown.test(claim.claim())) {
        found += reclaim(claim);
      }
    }
    if (found > 0) {
      log.info("reclaimed lost claims tasks={}", found);
      events.accept(new EngineEvent.Reaped(found, 0));
    }
    return Pass.done(rest);
  }

  /** A failure of one claim must not block the others. */
  private int reclaim(HeldClaims.Lost claim) {
    try {
      return claims.reap(claim, decision::of).states().size();
    } catch (RuntimeException e) {
      log.warn("cannot release lost claim claim={} error={}", claim.claim(), e.toString());
      return 0;
    }
  }
}
