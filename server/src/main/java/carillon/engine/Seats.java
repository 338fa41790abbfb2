package carillon.engine;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** The node's room: a task holds a seat from its claim until its outcome is written. */
final class Seats {

  private final int all;
  private final Semaphore free;
  private volatile Runnable whenFreed = () -> {};

  Seats(int all) {
    this.all = all;
    this.free = new Semaphore(all);
  }

  /** Asks to be told when seats become free again after all were taken. */
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

  /** Only the claimer takes seats, so what it saw free it can have. */
  void take(int seats) {
    if (!free.tryAcquire(seats)) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
  }

  void giveBack(int seats) {
    boolean wasFull = free.availablePermits() == 0;
    free.release(seats);
    if (wasFull && seats > 0) {
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
