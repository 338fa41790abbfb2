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
   * @param worthwhile how many must be free before a claim is worth its while
   */
  Seats(int all, int worthwhile) {
    this.all = all;
    this.worthwhile = worthwhile;
    this.free = new Semaphore(all);
  }

  /** Asks to be told when enough seats have become free for a claim. */
  void whenFreed(Runnable action) {
    this.whenFreed = action;
  }

  int all() {
    return all;
  }

  int taken() {
    return all - free.availablePermits();
  }

  /** How many a claim may take now; none while there are too few for one. */
  int free() {
    int seats = free.availablePermits();
    return seats < worthwhile ? 0 : seats;
  }

  /** Only the claimer takes seats, so what it saw free it can have. */
  void take(int seats) {
    if (!free.tryAcquire(seats)) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
  }

  void giveBack(int seats) {
    boolean wasFull = free() == 0;
    free.release(seats);
    if (wasFull && free() > 0) {
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
