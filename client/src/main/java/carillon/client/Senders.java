package carillon.client;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The few threads that send what is created in the background; there while there is something. */
final class Senders {

  static final int MOST = 3;

  private static final long IDLE_SECONDS = 5;

  private final ThreadPoolExecutor threads;

  Senders() {
    threads =
        new ThreadPoolExecutor(
            MOST,
            MOST,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            Threads.daemons("carillon-sender-"));
    threads.allowCoreThreadTimeOut(true);
  }

  void run(Runnable action) {
    threads.execute(action);
  }

  /** Waits for what was begun, which its retries limit. */
  void close() {
    threads.shutdown();
    try {
      while (!threads.awaitTermination(1, TimeUnit.MINUTES)) {
        Thread.onSpinWait();
      }
    } catch (InterruptedException e) {
      threads.shutdownNow();
      Thread.currentThread().interrupt();
    }
  }
}
