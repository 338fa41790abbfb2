package carillon.cluster;

import carillon.model.Pass;
import carillon.model.Signal;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.db.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Contends for the leadership, and holds it while this node has a lease and reaches the database.
 */
public final class Election {

  private static final Logger log = LoggerFactory.getLogger(Election.class);
  private static final Duration MAX_INTERVAL = Duration.ofSeconds(1);
  private static final int PASSES_PER_LEASE = 10;

  private final Leadership leadership;
  private final Supplier<NodeLease> node;
  private final Duration lease;
  private final LongSupplier nanoTime;
  private final RandomGenerator random;
  private final Signal won;
  private volatile Supplier<Optional<String>> stuckLoop = Optional::empty;
  private volatile BooleanSupplier isVacant = () -> true;
  private volatile @Nullable Held held;

  /**
   * A term and how long it is trusted. As with a node's lease, trust ends before another node can
   * take over.
   */
  private record Held(Term term, long trustedUntil) {
    static Held since(long askedAt, Term term, Duration lease) {
      return new Held(term, NodeLease.trustedUntil(askedAt, lease));
    }
  }

  /**
   * @param lease how long the leader leads without renewing
   * @param nanoTime the monotonic clock
   * @param won raised when this node begins to lead
   */
  public Election(
      Leadership leadership,
      Supplier<NodeLease> node,
      Duration lease,
      LongSupplier nanoTime,
      RandomGenerator random,
      Signal won) {
    this.leadership = leadership;
    this.node = node;
    this.lease = lease;
    this.nanoTime = nanoTime;
    this.random = random;
    this.won = won;
  }

  /** The term in which this node leads; empty as soon as that is in doubt. */
  public Optional<Term> term() {
    Held known = held;
    return known != null && nanoTime.getAsLong() - known.trustedUntil() < 0
        ? Optional.of(known.term())
        : Optional.empty();
  }

  /**
   * While a loop of the leader is stuck, this node neither leads nor contends, so that another node
   * does the leader's work.
   */
  public void leadUnlessStuck(Supplier<Optional<String>> stuckLoop) {
    this.stuckLoop = stuckLoop;
  }

  /**
   * Contends only while there seems to be no leader, so that followers send no queries. The caller
   * wakes the loop when that changes.
   */
  public void contendWhile(BooleanSupplier isVacant) {
    this.isVacant = isVacant;
  }

  /** One pass. */
  public Pass electOnce() {
    NodeLease member = node.get();
    boolean isMember = member.isTrusted(nanoTime.getAsLong());
    Held known = held;
    Optional<String> reason = stuckLoop.get();
    if (reason.isPresent()) {
      if (known != null) {
        log.error("resigning leadership node={} reason={}", known.term().node(), reason.get());
      }
      resign();
    } else if (known == null) {
      if (!isMember || !isVacant.getAsBoolean()) {
        return Pass.skipped(interval());
      }
      take(member.node());
    } else if (isMember && known.term().node().equals(member.node())) {
      renew(known.term());
    } else {
      resign(); // a node that may be taken for dead should not lead
    }
    return new Pass(interval(), reason.isEmpty());
  }

  private void take(String name) {
    long askedAt = nanoTime.getAsLong();
    try {
      leadership.take(name, lease).ifPresent(term -> won(askedAt, term));
    } catch (StoreException e) {
      if (!e.isBusy() && !e.isTooMuch()) {
        throw e;
      }
      log.debug("cannot take over yet: a transaction of the previous leader is still open");
    }
  }

  private void won(long askedAt, Term term) {
    held = Held.since(askedAt, term, lease);
    log.info("won leadership term={} node={}", term.number(), term.node());
    won.raise();
  }

  private void renew(Term term) {
    long askedAt = nanoTime.getAsLong();
    if (leadership.renew(term, lease)) {
      held = Held.since(askedAt, term, lease);
    } else {
      held = null;
      log.warn("lost leadership term={} node={}", term.number(), term.node());
    }
  }

  /** With jitter, so that candidates do not all contend at once. */
  private Duration interval() {
    Duration tenth = lease.dividedBy(PASSES_PER_LEASE);
    Duration max = tenth.compareTo(MAX_INTERVAL) < 0 ? tenth : MAX_INTERVAL;
    return max.dividedBy(2).plusNanos(random.nextLong(max.toNanos() / 2 + 1));
  }

  /** Ends the term if this node leads, so that the others need not wait for it to lapse. */
  public void resign() {
    Held known = held;
    if (known != null) {
      held = null;
      leadership.resign(known.term());
      log.info("resigned term={} node={}", known.term().number(), known.term().node());
    }
  }
}
