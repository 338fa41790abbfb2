package carillon.api.live;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;

/** Something that is looked at on a thread of its own while its owner looks elsewhere. */
final class BackgroundLoad<T> implements AutoCloseable {

  private final FutureTask<T> task;

  BackgroundLoad(Supplier<T> look) {
    this.task = new FutureTask<>(look::get);
    Thread.startVirtualThread(task);
  }

  /** What was seen; fails as the look did. */
  T get() {
    boolean isInterrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException e) {
          isInterrupted = true; // a look ends soon, and must not outlive its owner's turn
        }
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException failure) {
        throw failure;
      }
      throw new IllegalStateException(e.getCause());
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Returns when it has ended, whatever came of it: its owner has failed, or has asked before. */
  @Override
  public void close() {
    try {
      get();
    } catch (RuntimeException e) {
      // Told to who asked; who did not has a failure of its own to tell.
    }
  }
}
