package carillon.store.db;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Group commit. Callers hand in an item and wait until it is written; one of them, the writer,
 * writes everything that has gathered, in one transaction. No timer is needed: while one flush
 * commits, the next batch gathers, and its first item's caller is the next writer. So no caller
 * writes twice for one item, and none waits for a lock after its item is written.
 */
public final class Combiner<T> {

  private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(2);

  private final int maxBatch;
  private final Consumer<List<T>> flush;
  private final Duration flushTimeout;
  private final Object lock = new Object();
  private List<Waiting<T>> gathered = new ArrayList<>(); // guarded by lock
  private boolean isWriting; // guarded by lock
  private long begun; // guarded by lock; when the flush under way was, by the monotonic clock

  /**
   * @param flush writes all or nothing, and throws if nothing
   */
  public Combiner(int maxBatch, Consumer<List<T>> flush) {
    this(maxBatch, flush, FLUSH_TIMEOUT);
  }

  /**
   * @param flushTimeout callers that arrive while a flush exceeds it are rejected immediately;
   *     callers already queued fail with the flush if the database is unreachable. Default 2 s.
   */
  Combiner(int maxBatch, Consumer<List<T>> flush, Duration flushTimeout) {
    this.maxBatch = maxBatch;
    this.flush = flush;
    this.flushTimeout = flushTimeout;
  }

  private enum Turn {
    WAITS,
    WRITES,
    ENDED
  }

  private static final class Waiting<T> {
    private final T item;
    private final Thread caller = Thread.currentThread();
    private @Nullable Throwable failure; // published by turn
    private volatile Turn turn = Turn.WAITS;

    Waiting(T item) {
      this.item = item;
    }

    void callUp() {
      turn = Turn.WRITES;
      LockSupport.unpark(caller);
    }

    void end(@Nullable Throwable why) {
      failure = why;
      turn = Turn.ENDED;
      LockSupport.unpark(caller);
    }
  }

  /** Returns once the item is committed; throws the exception of its flush. */
  public void write(T item) {
    Waiting<T> mine = new Waiting<>(item);
    gather(mine);
    // Too late to give up: another thread may be writing the item, and a writer writes for others.
    boolean interrupted = Thread.interrupted();
    while (mine.turn == Turn.WAITS) {
      LockSupport.park(this);
      interrupted |= Thread.interrupted();
    }
    try {
      if (mine.turn == Turn.WRITES) {
        writeGathered();
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    throwIf(mine.failure);
  }

  private void gather(Waiting<T> waiting) {
    synchronized (lock) {
      if (isRefusing()) {
        throw new StoreException("the database has not responded for a while", "08000", null);
      }
      gathered.add(waiting);
      if (!isWriting) {
        isWriting = true;
        begun = System.nanoTime(); // until it does begin
        waiting.turn = Turn.WRITES;
      }
    }
  }

  /** Whether new callers fail at once, because the database seems unreachable. */
  boolean isRefusing() {
    synchronized (lock) {
      return isWriting && isLate();
    }
  }

  private boolean isLate() {
    return System.nanoTime() - begun > flushTimeout.toNanos();
  }

  private void writeGathered() {
    try {
      Throwable failure = flushOnce(take());
      if (failure instanceof StoreException e && e.isUnavailable()) {
        giveUp(failure);
      }
    } finally {
      handOn();
    }
  }

  /** Callers that have waited this long for an unreachable database fail, too. */
  private void giveUp(Throwable failure) {
    List<Waiting<T>> left = List.of();
    synchronized (lock) {
      if (isLate()) {
        left = gathered;
        gathered = new ArrayList<>();
      }
    }
    left.forEach(waiting -> waiting.end(failure));
  }

  /** Last, so that the next items of the callers just woken join the next batch. */
  private void handOn() {
    synchronized (lock) {
      if (gathered.isEmpty()) {
        isWriting = false;
      } else {
        begun = System.nanoTime();
        gathered.getFirst().callUp();
      }
    }
  }

  private static void throwIf(@Nullable Throwable failure) {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure instanceof RuntimeException exception) {
      throw exception;
    }
  }

  private @Nullable Throwable flushOnce(List<Waiting<T>> batch) {
    Throwable failure = tryFlush(batch);
    boolean isAboutOneItem =
        failure instanceof StoreException e
            && !e.isUnavailable()
            && !e.isBusy()
            && batch.size() > 1;
    // One bad item must not fail its neighbours.
    batch.forEach(waiting -> waiting.end(isAboutOneItem ? tryFlush(List.of(waiting)) : failure));
    return failure;
  }

  /** The failure to rethrow to each caller of the batch; null on success. */
  private @Nullable Throwable tryFlush(List<Waiting<T>> batch) {
    synchronized (lock) {
      begun = System.nanoTime();
    }
    try {
      flush.accept(batch.stream().map(waiting -> waiting.item).toList());
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  private List<Waiting<T>> take() {
    synchronized (lock) {
      List<Waiting<T>> batch = gathered;
      if (batch.size() <= maxBatch) {
        gathered = new ArrayList<>();
        return batch;
      }
      gathered = new ArrayList<>(batch.subList(maxBatch, batch.size()));
      return new ArrayList<>(batch.subList(0, maxBatch));
    }
  }

  /** How many items wait for a flush that has not begun. */
  int gathered() {
    synchronized (lock) {
      return gathered.size();
    }
  }
}
