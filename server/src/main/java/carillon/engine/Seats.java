package carillon.engine;

import carillon.model.Signal;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Capacity for tasks in flight on this node. Seats are taken before a claim, and those that it does
 * not need are returned. A task holds a seat from its claim until it has been tried. Its outcome
 * then waits to be saved: up to {@code saveBacklog} outcomes wait without a seat, the others hold
 * theirs until they are saved.
 *
 * <pre>
 *   taken ──► claimed ──► tried ──► saved
 *   |-reserved-|- running -|
 *              |------- unsaved -----|
 * </pre>
 */
final class Seats {

  private final int all;
  private final int saveBacklog;
  private final int minBatch;
  private final Signal freed;

  // Guarded by this: what is free depends on all of them.
  private int reserved; // taken for claims that have no response yet
  private int unsaved; // claimed and not saved yet
  private int running; // claimed and not tried yet

  Seats(int all) {
    this(all, 0, 1, new Signal());
  }

  /**
   * @param saveBacklog how many outcomes may wait to be saved without holding a seat
   * @param minBatch with fewer free seats than this, a claim waits a moment for more
   * @param freed raised when there are free seats again, and when there are enough for a good claim
   */
  Seats(int all, int saveBacklog, int minBatch, Signal freed) {
    this.all = all;
    this.saveBacklog = saveBacklog;
    this.minBatch = minBatch;
    this.freed = freed;
  }

  int all() {
    return all;
  }

  int taken() {
    return all - free();
  }

  synchronized int free() {
    return Math.min(all - running, all + saveBacklog - unsaved) - reserved;
  }

  /** How many tasks have not been tried yet. */
  synchronized int running() {
    return running;
  }

  /** How many tasks have been tried and wait to be saved. */
  synchronized int waitingToBeSaved() {
    return unsaved - running;
  }

  /** Whether a claim would be large enough not to wait for more seats. */
  boolean hasMinBatch() {
    return free() >= minBatch;
  }

  /** Takes as many seats as are free, at most this many, and returns how many. */
  synchronized int takeUpTo(int seats) {
    int taken = Math.max(0, Math.min(seats, free()));
    reserved += taken;
    return taken;
  }

  /** Takes all of these seats or none. */
  synchronized boolean tryTake(int seats) {
    return free() >= seats && takeUpTo(seats) == seats;
  }

  /** This many tasks were claimed for the seats taken. */
  synchronized void claimed(int tasks) {
    reserved -= tasks;
    running += tasks;
    unsaved += tasks;
  }

  /**
   * Frees seats that the claimer took and did not need. Raises no signal: the claimer pauses after
   * a failure, and a wake-up would make it retry at once, for as long as the failure lasts.
   */
  void returnUnused(int seats) {
    var _ = release(seats, 0, 0);
  }

  /** Frees seats that no task took, and wakes the claimer if it waits for them. */
  void returnUnusedAndWake(int seats) {
    raiseIf(release(seats, 0, 0));
  }

  /**
   * Frees the seats of a claim that could not be started. Raises no signal, like {@link
   * #returnUnused}.
   *
   * @param untried how many of its tasks were not tried yet
   */
  void abandon(int untried, int unsaved) {
    var _ = release(0, untried, unsaved);
  }

  /** One task has been tried, and its outcome is to be saved. */
  void tried() {
    raiseIf(release(0, 1, 0));
  }

  /** The outcomes of this many tasks are saved, or no longer this node's to save. */
  void saved(int tasks) {
    raiseIf(release(0, 0, tasks));
  }

  /** Wakes the claimer, which may wait for a seat. */
  void wake() {
    freed.raise();
  }

  /** Returns whether to wake a waiting claimer. */
  private synchronized boolean release(int unused, int tried, int saved) {
    int before = free();
    reserved -= unused;
    running -= tried;
    unsaved -= saved;
    int after = free();
    if (isEmpty()) {
      notifyAll();
    }
    return (before == 0 && after > 0) || (before < minBatch && after >= minBatch);
  }

  private void raiseIf(boolean isWorthIt) {
    if (isWorthIt) {
      freed.raise();
    }
  }

  private boolean isEmpty() {
    return unsaved == 0 && reserved == 0;
  }

  /** Waits until every outcome is saved; false if that took too long. */
  synchronized boolean awaitEmpty(Duration atMost) throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    for (long left = atMost.toNanos(); !isEmpty() && left > 0; left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return isEmpty();
  }
}
