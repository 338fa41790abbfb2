package carillon.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Some of the node's room: a task holds a seat from its claim until it has been tried. Then its
 * outcome waits to be written, for which there may be room beside the seats: where there is none,
 * the seat is held until then.
 */
final class Seats {

  private final int all;
  private final int beside;
  private final int worthwhile;
  private volatile Runnable whenFreed = () -> {};

  // Guarded by this: what is free depends on both, and whoever frees the first must know it.
  private int unwritten; // claimed, and not written yet
  private int untried; // of those

  Seats(int all) {
    this(all, 0, 1);
  }

  /**
   * @param beside how many outcomes may wait to be written without holding a seat
   * @param worthwhile with fewer free than that, a claim waits a moment for more
   */
  Seats(int all, int beside, int worthwhile) {
    this.all = all;
    this.beside = beside;
    this.worthwhile = worthwhile;
  }

  /**
   * Asks to be told when there are free seats again, and when there are enough for a good claim.
   */
  void whenFreed(Runnable action) {
    this.whenFreed = action;
  }

  int all() {
    return all;
  }

  int taken() {
    return all - free();
  }

  synchronized int free() {
    return Math.min(all - untried, all + beside - unwritten);
  }

  /** How many have not been tried yet. */
  synchronized int untried() {
    return untried;
  }

  /** How many have been tried and wait to be written. */
  synchronized int toBeWritten() {
    return unwritten - untried;
  }

  /** Whether a claim would be large enough not to wait for more seats. */
  boolean isWorthwhile() {
    return free() >= worthwhile;
  }

  /** Only who looks for what is due takes seats, so what it saw free it can have. */
  synchronized void take(int seats) {
    if (free() < seats) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
    unwritten += seats;
    untried += seats;
  }

  /**
   * Gives back the seats of a claim that failed. Wakes nobody: the claimer rests after a failure,
   * and a wake-up would make it try again at once, for as long as the failure lasts.
   *
   * @param untried how many of them were not tried yet
   */
  void leave(int untried, int unwritten) {
    var _ = freed(untried, unwritten);
  }

  /** One has been tried, and is to be written. */
  void tried() {
    tellIf(freed(1, 0));
  }

  /** So many are written, or are no longer ours to write. */
  void giveBack(int seats) {
    tellIf(freed(0, seats));
  }

  /** Whether that is worth telling. */
  private synchronized boolean freed(int tried, int written) {
    int before = free();
    untried -= tried;
    unwritten -= written;
    int after = free();
    if (unwritten == 0) {
      notifyAll();
    }
    return (before == 0 && after > 0) || (before < worthwhile && after >= worthwhile);
  }

  private void tellIf(boolean isWorthIt) {
    if (isWorthIt) {
      whenFreed.run();
    }
  }

  /** Waits until everything is written; false if that took too long. */
  synchronized boolean awaitEmpty(Duration atMost) throws InterruptedException {
    long end = System.nanoTime() + atMost.toNanos();
    for (long left = atMost.toNanos(); unwritten > 0 && left > 0; left = end - System.nanoTime()) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    return unwritten == 0;
  }
}
