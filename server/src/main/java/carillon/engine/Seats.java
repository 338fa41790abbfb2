package carillon.engine;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Some of the node's room: a task holds a seat from its claim until its outcome is written. */
final class Seats {

  private final int all;
  private final int worthwhile;
  private final Semaphore free;
  private volatile Runnable whenFreed = () -> {};

  Seats(int all) {
    this(all, 1);
  }

  /**
   * @param worthwhile with fewer free than that, a claim waits a moment for more
   */
  Seats(int all, int worthwhile) {
    this.all = all;
    this.worthwhile = worthwhile;
    this.free = new Semaphore(all);
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
    return all - free.availablePermits();
  }

  int free() {
    return free.availablePermits();
  }

  /** Whether a claim would be large enough not to wait for more seats. */
  boolean isWorthwhile() {
    return free() >= worthwhile;
  }

  /** Only the claimer takes seats, so what it saw free it can have. */
  void take(int seats) {
    if (!free.tryAcquire(seats)) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
  }

  void giveBack(int seats) {
    free.release(seats);
    int after = free();
    int before = after - seats; // not asked for before: a claim may come between
    if ((before == 0 && after > 0) || (before < worthwhile && after >= worthwhile)) {
      whenFreed.run();
    }
  }

  /** Waits until nothing runs; false if that took too long. */
  boolean awaitEmpty(Duration atMost) throws InterruptedException {
    if (!free.tryAcquire(all, atMost.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    free.release(all);
    return true;
  }
}
