package carillon.engine;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Some of the node's room: a task holds a seat from its claim until it has been tried. Then its
 * outcome waits to be written, for which there is some room beside the seats: where there is none,
 * the seat is held until then.
 */
final class Seats {

  private final int all;
  private final int worthwhile;
  private final boolean hasRoomBeside;
  private final int room;

  /** For what was claimed and is not written yet. */
  private final Semaphore unused;

  /** What was claimed and has not been tried yet; only counted where there is room beside. */
  private final AtomicInteger untried = new AtomicInteger();

  private volatile Runnable whenFreed = () -> {};

  Seats(int all) {
    this(all, 0, 1);
  }

  /**
   * @param unwritten how many outcomes may wait to be written without holding a seat
   * @param worthwhile with fewer free than that, a claim waits a moment for more
   */
  Seats(int all, int unwritten, int worthwhile) {
    this.all = all;
    this.worthwhile = worthwhile;
    this.hasRoomBeside = unwritten > 0;
    this.room = all + unwritten;
    this.unused = new Semaphore(room);
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

  int free() {
    int left = unused.availablePermits();
    return hasRoomBeside ? Math.min(left, all - untried.get()) : left;
  }

  /** Whether a claim would be large enough not to wait for more seats. */
  boolean isWorthwhile() {
    return free() >= worthwhile;
  }

  /** Only the claimer takes seats, so what it saw free it can have. */
  void take(int seats) {
    if (!unused.tryAcquire(seats)) {
      throw new IllegalStateException("more was claimed than there were seats");
    }
    untried.addAndGet(hasRoomBeside ? seats : 0);
  }

  /** One has been tried, and is to be written. */
  void tried() {
    if (hasRoomBeside) {
      untried.decrementAndGet();
      tell(1);
    }
  }

  /** So many are written, or are no longer ours to write. */
  void giveBack(int seats) {
    unused.release(seats);
    tell(seats);
  }

  private void tell(int freed) {
    int after = free();
    int before = after - freed; // not asked for before: a claim may come between
    if ((before <= 0 && after > 0) || (before < worthwhile && after >= worthwhile)) {
      whenFreed.run();
    }
  }

  /** Waits until everything is written; false if that took too long. */
  boolean awaitEmpty(Duration atMost) throws InterruptedException {
    if (!unused.tryAcquire(room, atMost.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    unused.release(room);
    return true;
  }
}
