package carillon.client;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The threads that create tasks in the background. They exist only while there is work. */
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

  /** Completes a future on the common pool: dependent stages of users may wait for a sender. */
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

  /** Waits for running requests, which retry for a limited time, but not for dependent stages. */
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
      // Requests that had not started fail by the interrupt.
      threads.shutdownNow().forEach(Runnable::run);
    }
  }
}
