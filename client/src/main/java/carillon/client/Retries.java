package carillon.client;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Repeats idempotent calls for a limited time. */
final class Retries {

  private static final Duration MAX_PAUSE = Duration.ofSeconds(5);

  private final Duration limit;

  /**
   * @param limit time after the first call in which new ones may start
   */
  Retries(Duration limit) {
    this.limit = limit;
  }

  /** Returns the result of the call, or throws its last exception. */
  <T> T run(Supplier<T> call) {
    long end = System.nanoTime() + limit.toNanos();
    Backoff backoff = new Backoff(MAX_PAUSE);
    while (true) {
      try {
        return call.get();
      } catch (CarillonException e) {
        long pause = backoff.next(e).toNanos();
        if (!e.isTransient() || System.nanoTime() + pause - end > 0) {
          throw e;
        }
        try {
          TimeUnit.NANOSECONDS.sleep(pause);
        } catch (InterruptedException interrupted) {
          Thread.currentThread().interrupt();
          throw e;
        }
      }
    }
  }
}
