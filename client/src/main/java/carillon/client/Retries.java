package carillon.client;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** Repeats calls that are safe to repeat, for a limited time. */
final class Retries {

  private static final Duration MAX_PAUSE = Duration.ofSeconds(5);

  private final Duration atMost;

  /**
   * @param atMost the time from the first call after which none is begun
   */
  Retries(Duration atMost) {
    this.atMost = atMost;
  }

  /** What the call returns; what it last threw, if that cannot change or the time is over. */
  <T> T run(Supplier<T> call) {
    long end = System.nanoTime() + atMost.toNanos();
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
