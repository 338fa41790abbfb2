package carillon.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The few threads that send what is created in the background; there while there is something. */
final class SenderThreads {

  static final int MAX = 3;

  private static final long IDLE_SECONDS = 5;

  private final ThreadPoolExecutor threads;
  private final Map<Runnable, CompletableFuture<?>> completing = new ConcurrentHashMap<>();

  SenderThreads() {
    threads =
        new ThreadPoolExecutor(
            MAX,
            MAX,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Threads.daemons("carillon-sender-"));
    threads.allowCoreThreadTimeOut(true);
  }

  void run(Runnable action) {
    threads.execute(action);
  }

  /**
   * Completes a future on a thread of others: what users hang on to it may well wait for a sender.
   */
  void complete(CompletableFuture<?> future, Runnable completion) {
    completing.put(completion, future);
    ForkJoinPool.commonPool()
        .execute(
            () -> {
              try {
                completion.run();
              } finally {
                completing.remove(completion);
              }
            });
  }

  /** Waits for what was begun, which its retries limit, and not for what users hang on to it. */
  void close() {
    threads.shutdown();
    try {
      while (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
        Thread.onSpinWait();
      }
      for (CompletableFuture<?> future : completing.values()) {
        future.handle((created, why) -> true).join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      // Those that had not begun fail as well, by the interrupt.
      threads.shutdownNow().forEach(Runnable::run);
    }
  }
}
