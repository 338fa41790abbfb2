package carillon.engine;

import carillon.model.Signal;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Capacity for tasks in flight on this node. A task holds a seat from its claim until it has been
 * tried. Its outcome then waits to be saved: up to {@code saveBacklog} outcomes wait without a
 * seat, the others hold theirs until they are saved.
 *
 * <pre>
 *   claimed ──► tried ──► saved
 *   |- running -|
 *   |------- unsaved -----|
 * </pre>
 */
final class Seats {

  private final int all;
  private final int saveBacklog;
  private final int minBatch;
  private final Signal freed;

  // Guarded by this: what is free depends on both.
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
    return Math.min(all - running, all + saveBacklog - unsaved);
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

  /** Only the claimer's thread takes seats, so it gets what it saw free. */
  synchronized void take(int seats) {
    if (free() < seats) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
    unsaved += seats;
    running += seats;
  }

  /**
   * Frees the seats of a claim that failed. Raises no signal: the claimer pauses after a failure,
   * and a wake-up would make it retry at once, for as long as the failure lasts.
   *
   * @param untried how many of its tasks were not tried yet
   */
  void leave(int untried, int unsaved) {
    var _ = free(untried, unsaved);
  }

  /** One task has been tried, and its outcome is to be saved. */
  void tried() {
    raiseIf(free(1, 0));
  }

  /** The outcomes of this many tasks are saved, or no longer this node's to save. */
  void giveBack(int seats) {
    raiseIf(free(0, seats));
  }

  /** Returns whether to wake a waiting claimer. */
  private synchronized boolean free(int tried, int saved) {
    int before = free();
    running -= tried;
    unsaved -= saved;
    int after = free();
    if (unsaved == 0) {
      notifyAll();
    }
    return (before == 0 && after > 0) || (before < minBatch && after >= minBatch);
  }

  private void raiseIf(boolean isWorthIt) {
    if (isWorthIt) {
      freed.raise();
    }
  }

  /** Waits until every outcome is saved; false if that took too long. */
  synchronized boolean awaitEmpty(Duration atMost) throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    for (long left = atMost.toNanos(); unsaved > 0 && left > 0; left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return unsaved == 0;
  }
}
