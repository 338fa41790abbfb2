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
 * Contends for the leadership, and keeps it while this node is a member that the database answers.
 */
public final class Election {

  private static final Logger log = LoggerFactory.getLogger(Election.class);
  private static final Duration LONGEST_INTERVAL = Duration.ofSeconds(1);
  private static final int PASSES_PER_LEASE = 10;

  private final Leadership leadership;
  private final Supplier<NodeLease> node;
  private final Duration lease;
  private final LongSupplier nanoTime;
  private final RandomGenerator random;
  private final Signal won;
  private volatile Supplier<Optional<String>> harm = Optional::empty;
  private volatile BooleanSupplier isVacant = () -> true;
  private volatile @Nullable Held held;

  /**
   * A term, and how long it is trusted: as with a node's own lease, we stop before another may
   * begin.
   */
  private record Held(Term term, long trustedUntil) {
    static Held since(long askedAt, Term term, Duration lease) {
      return new Held(term, NodeLease.trustedUntil(askedAt, lease));
    }
  }

  /**
   * @param lease how long the leader may be silent
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
   * While there is a reason this node neither leads nor contends: what the leader cannot do any
   * more, another must.
   */
  public void leadUnlessStuck(Supplier<Optional<String>> harm) {
    this.harm = harm;
  }

  /**
   * Contends only while nobody seems to lead, so that those who follow ask nothing. Who learns that
   * it is so is to wake the loop.
   */
  public void contendWhile(BooleanSupplier isVacant) {
    this.isVacant = isVacant;
  }

  /** One pass. */
  public Pass electOnce() {
    NodeLease member = node.get();
    boolean isMember = member.isTrusted(nanoTime.getAsLong());
    Held known = held;
    Optional<String> reason = harm.get();
    if (reason.isPresent()) {
      if (known != null) {
        log.error("resigns node={} because={}", known.term().node(), reason.get());
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
      resign(); // whoever is taken for dead as a node should not lead
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
      log.debug("cannot take over yet: what the leader before was writing is still open");
    }
  }

  private void won(long askedAt, Term term) {
    held = Held.since(askedAt, term, lease);
    log.info("leads term={} node={}", term.number(), term.node());
    won.raise();
  }

  private void renew(Term term) {
    long askedAt = nanoTime.getAsLong();
    if (leadership.renew(term, lease)) {
      held = Held.since(askedAt, term, lease);
    } else {
      held = null;
      log.warn("leads no longer term={} node={}", term.number(), term.node());
    }
  }

  /** Candidates do not all come at once. */
  private Duration interval() {
    Duration tenth = lease.dividedBy(PASSES_PER_LEASE);
    Duration most = tenth.compareTo(LONGEST_INTERVAL) < 0 ? tenth : LONGEST_INTERVAL;
    return most.dividedBy(2).plusNanos(random.nextLong(most.toNanos() / 2 + 1));
  }

  /** Ends the term, if this node leads, so that nobody waits for it to lapse. */
  public void resign() {
    Held known = held;
    if (known != null) {
      held = null;
      leadership.resign(known.term());
      log.info("resigned term={} node={}", known.term().number(), known.term().node());
    }
  }
}
