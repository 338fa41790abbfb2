package carillon.store;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Group commit. Callers hand in an item and wait until it is written; whoever gets to flush writes
 * everything that has gathered, in one transaction. No timer is needed: while one flush commits,
 * the next batch gathers.
 */
final class Combiner<T> {

  private final int maxBatch;
  private final Consumer<List<T>> flush;
  private final ReentrantLock flushing = new ReentrantLock();
  private List<Waiting<T>> gathered = new ArrayList<>();

  /**
   * @param flush writes all or nothing, and throws if nothing
   */
  Combiner(int maxBatch, Consumer<List<T>> flush) {
    this.maxBatch = maxBatch;
    this.flush = flush;
  }

  private static final class Waiting<T> {
    final T item;
    boolean ended; // guarded by flushing
    @Nullable Throwable failure; // guarded by flushing

    Waiting(T item) {
      this.item = item;
    }
  }

  /** Returns once the item is committed; throws what its flush threw. */
  void write(T item) {
    Waiting<T> waiting = new Waiting<>(item);
    synchronized (this) {
      gathered.add(waiting);
    }
    flushing.lock();
    try {
      // Whoever held the lock before us may have written ours already.
      while (!waiting.ended) {
        flushOnce(take());
      }
      throwIf(waiting.failure);
    } finally {
      flushing.unlock();
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

  private void flushOnce(List<Waiting<T>> batch) {
    Throwable failure = tryFlush(batch);
    boolean isAboutOneItem =
        failure instanceof StoreException e
            && !e.isUnavailable()
            && !e.isBusy()
            && batch.size() > 1;
    if (isAboutOneItem) {
      // One bad item must not fail its neighbours.
      batch.forEach(waiting -> waiting.failure = tryFlush(List.of(waiting)));
    } else {
      batch.forEach(waiting -> waiting.failure = failure);
    }
    batch.forEach(waiting -> waiting.ended = true);
  }

  /** What went wrong, to be thrown again to each caller whose item it concerns; null if nothing. */
  private @Nullable Throwable tryFlush(List<Waiting<T>> batch) {
    try {
      flush.accept(batch.stream().map(waiting -> waiting.item).toList());
      return null;
    } catch (RuntimeException | Error e) {
      return e;
    }
  }

  private synchronized List<Waiting<T>> take() {
    List<Waiting<T>> batch = gathered;
    if (batch.size() <= maxBatch) {
      gathered = new ArrayList<>();
      return batch;
    }
    gathered = new ArrayList<>(batch.subList(maxBatch, batch.size()));
    return new ArrayList<>(batch.subList(0, maxBatch));
  }

  /** How many items wait for a flush that has not begun. */
  synchronized int gathered() {
    return gathered.size();
  }
}
