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
 * commits, the next batch gathers, and its first item's caller is the next writer. So nobody is it
 * twice for one item, and nobody waits for a lock to learn that theirs is written.
 */
public final class Combiner<T> {

  private static final Duration PATIENCE = Duration.ofSeconds(2);

  private final int maxBatch;
  private final Consumer<List<T>> flush;
  private final Duration patience;
  private final Object lock = new Object();
  private List<Waiting<T>> gathered = new ArrayList<>(); // guarded by lock
  private boolean isWriting; // guarded by lock
  private long begun; // guarded by lock; when the flush under way was, by the monotonic clock

  /**
   * @param flush writes all or nothing, and throws if nothing
   */
  public Combiner(int maxBatch, Consumer<List<T>> flush) {
    this(maxBatch, flush, PATIENCE);
  }

  /**
   * @param patience with a flush: who comes later is refused at once, and so is who waits when it
   *     fails because the database is away. Default 2 s.
   */
  Combiner(int maxBatch, Consumer<List<T>> flush, Duration patience) {
    this.maxBatch = maxBatch;
    this.flush = flush;
    this.patience = patience;
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

  /** Returns once the item is committed; throws what its flush threw. */
  public void write(T item) {
    Waiting<T> mine = new Waiting<>(item);
    gather(mine);
    // Too late to give up: another may have taken the item, and a writer writes for others too.
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
        throw new StoreException("the database has not answered for a while", "08000", null);
      }
      gathered.add(waiting);
      if (!isWriting) {
        isWriting = true;
        begun = System.nanoTime(); // until it does begin
        waiting.turn = Turn.WRITES;
      }
    }
  }

  /** Whether who comes now is told at once that the database is away. */
  boolean isRefusing() {
    synchronized (lock) {
      return isWriting && isLate();
    }
  }

  private boolean isLate() {
    return System.nanoTime() - begun > patience.toNanos();
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

  /** Those who have waited so long for a database that is away need not wait as long again. */
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

  /** Last of all: what those who were just woken hand in next is then in the next batch. */
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

  /** What went wrong, to be thrown again to each caller whose item it concerns; null if nothing. */
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
