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
    @Nullable RuntimeException failure; // guarded by flushing

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
      if (waiting.failure != null) {
        throw waiting.failure;
      }
    } finally {
      flushing.unlock();
    }
  }

  private void flushOnce(List<Waiting<T>> batch) {
    RuntimeException failure = tryFlush(batch);
    boolean isAboutOneItem =
        failure instanceof StoreException e && !e.isUnavailable() && batch.size() > 1;
    if (isAboutOneItem) {
      // One bad item must not fail its neighbours.
      batch.forEach(waiting -> waiting.failure = tryFlush(List.of(waiting)));
    } else {
      batch.forEach(waiting -> waiting.failure = failure);
    }
    batch.forEach(waiting -> waiting.ended = true);
  }

  private @Nullable RuntimeException tryFlush(List<Waiting<T>> batch) {
    try {
      flush.accept(batch.stream().map(waiting -> waiting.item).toList());
      return null;
    } catch (RuntimeException e) {
      return e; // thrown again to each caller whose item it concerns
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
}
