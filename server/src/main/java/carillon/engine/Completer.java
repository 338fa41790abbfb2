package carillon.engine;

import carillon.model.cluster.NodeLease;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.store.db.StoreException;
import carillon.store.queue.Outcomes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Saves outcomes in batches: while one batch commits, the next one gathers. */
final class Completer {

  private static final Logger log = LoggerFactory.getLogger(Completer.class);
  private static final int MAX_BATCH = 2_000;

  private static final Failure LOST =
      Failure.of(FailureKind.LEASE_LOST, "how the attempt ended is not known");

  /** A fallback only: every added outcome wakes the loop. */
  private static final Duration IDLE = Duration.ofSeconds(1);

  private final Outcomes outcomes;
  private final OpenClaims openClaims;
  private final Supplier<NodeLease> node;
  private final Hooks hooks;
  private final BlockingQueue<Attempted> added = new LinkedBlockingQueue<>();

  /** Kept when a save fails; used by the loop's thread only. */
  private final List<Attempted> batch = new ArrayList<>();

  /**
   * Callbacks of the completer.
   *
   * @param onAdded there is something to save
   * @param onSaved these attempts were saved, or were dropped because they cannot be saved
   * @param onProgress a part of a long pass is done
   */
  record Hooks(
      Runnable onAdded,
      Consumer<List<Attempted>> onSaved,
      Runnable onProgress,
      Consumer<EngineEvent> events) {}

  Completer(Outcomes outcomes, OpenClaims openClaims, Supplier<NodeLease> node, Hooks hooks) {
    this.outcomes = outcomes;
    this.openClaims = openClaims;
    this.node = node;
    this.hooks = hooks;
  }

  void add(Attempted attempted) {
    var claim = openClaims.find(attempted.lease().claim()); // now: once saved it may be closed
    added.add(attempted); // first, because it may fail: then the caller can still drop it
    if (claim != null) {
      claim.tried();
    }
    hooks.onAdded().run();
  }

  /**
   * Drops a task whose outcome is unknown and saves nothing. Once the other tasks of its claim have
   * ended, this node no longer knows the claim, and {@link LostClaims} reclaims it.
   */
  void drop(ClaimedTask task) {
    handOver(task);
    hooks.onSaved().accept(List.of(new Attempted(task, new Outcome.Released(LOST))));
  }

  /**
   * Hands a task over to a broker's consumer, which reports the outcome. Saves nothing. The row of
   * its claim stays, for the report or for the reaper.
   */
  void handOver(ClaimedTask task) {
    UUID id = task.lease().claim();
    var claim = openClaims.find(id);
    if (claim != null) {
      claim.tried();
    }
    openClaims.dropped(id);
  }

  /** One pass. A batch that could not be saved is tried again by the next one. */
  Duration flushOnce() {
    added.drainTo(batch, MAX_BATCH - batch.size());
    if (batch.isEmpty()) {
      return IDLE;
    }
    try {
      save(batch);
    } catch (RuntimeException e) {
      if (isTransient(e)) {
        throw e;
      }
      log.warn("cannot save batch outcomes={} error={}", batch.size(), e.toString());
      saveOneByOne();
    }
    batch.clear();
    return added.isEmpty() ? IDLE : Duration.ZERO;
  }

  private void save(List<Attempted> attempts) {
    Map<UUID, Integer> perClaim = countPerClaim(attempts);
    var written =
        outcomes.finishAttempts(attempts, () -> openClaims.closedBy(perClaim), node.get().node());
    int saved = written.states().size();
    // The rest had lost their lease. That is normal after a long pause: counted, not thrown.
    hooks.events().accept(new EngineEvent.Ended(saved, attempts.size() - saved));
    openClaims.saved(perClaim);
    hooks.onSaved().accept(attempts);
  }

  /** One outcome that the database refuses must not hold up the others. */
  private void saveOneByOne() {
    while (!batch.isEmpty()) {
      hooks.onProgress().run();
      saveAlone(batch.getFirst());
      batch.removeFirst(); // at once: if a later one has to be repeated, this one must not be
    }
  }

  private void saveAlone(Attempted attempted) {
    try {
      save(List.of(attempted));
    } catch (RuntimeException e) {
      if (isTransient(e)) {
        throw e;
      }
      log.error("outcome dropped task={} error={}", attempted.id(), e.toString());
      openClaims.dropped(attempted.lease().claim());
      hooks.onSaved().accept(List.of(attempted));
    }
  }

  /** Whether a retry of the whole batch may succeed. */
  private static boolean isTransient(RuntimeException e) {
    return e instanceof StoreException store && (store.isUnavailable() || store.isBusy());
  }

  private static Map<UUID, Integer> countPerClaim(List<Attempted> attempts) {
    Map<UUID, Integer> tasks = new HashMap<>();
    attempts.forEach(attempted -> tasks.merge(attempted.lease().claim(), 1, Integer::sum));
    return tasks;
  }
}
