package carillon.client.sql;

import carillon.client.CarillonException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Forwards an outbox on a thread of its own until it is closed. Retries all failures. */
public final class OutboxRelay implements AutoCloseable {

  private static final Logger log = System.getLogger(OutboxRelay.class.getName());
  private static final Duration IDLE = Duration.ofMillis(200);
  private static final Duration MAX_WAIT = Duration.ofSeconds(5);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);

  private final Outbox outbox;
  private final Thread thread;
  private final CountDownLatch closed = new CountDownLatch(1);

  private OutboxRelay(Outbox outbox) {
    this.outbox = outbox;
    this.thread = new Thread(this::run, "carillon-outbox");
    thread.setDaemon(true); // may stop anywhere: the next relay finishes its work
  }

  static OutboxRelay start(Outbox outbox) {
    OutboxRelay relay = new OutboxRelay(outbox);
    relay.thread.start();
    return relay;
  }

  private void run() {
    int failures = 0;
    boolean isClosed = false;
    while (!isClosed) {
      Duration wait;
      try {
        wait = outbox.relayOnce() ? Duration.ZERO : IDLE;
        if (failures > 0) {
          log.log(Level.INFO, "outbox forwarding resumed");
        }
        failures = 0;
      } catch (SQLException | RuntimeException e) {
        // Any failure: without this thread nothing would be sent at all.
        wait = backoff(failures++);
        if (failures == 1 && closed.getCount() > 0) {
          log.log(Level.WARNING, "outbox forwarding failed, retrying: " + e.getMessage(), cause(e));
        }
      }
      isClosed = await(wait);
    }
  }

  /** No stack trace if the message is enough. */
  private static @Nullable Throwable cause(Exception e) {
    return e instanceof CarillonException ? null : e;
  }

  private static Duration backoff(int failures) {
    long max = Math.min(MAX_WAIT.toMillis(), 100L << Math.min(failures, 10));
    return Duration.ofMillis(ThreadLocalRandom.current().nextLong(max / 2, max + 1));
  }

  private boolean await(Duration wait) {
    try {
      return closed.await(wait.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      return true; // close() timed out
    }
  }

  /** Waits up to 10 seconds for the current batch. Unsent rows stay in the table. */
  @Override
  public void close() {
    closed.countDown();
    try {
      thread.join(CLOSE_TIMEOUT.toMillis());
      thread.interrupt();
    } catch (InterruptedException e) {
      thread.interrupt();
      Thread.currentThread().interrupt();
    }
  }
}
