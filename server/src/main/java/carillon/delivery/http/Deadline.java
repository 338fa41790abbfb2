package carillon.delivery.http;

import java.net.Socket;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Ends one attempt on time, whatever the attempt is doing.
 *
 * <p>A socket timeout restarts with every byte, so a target that sends slowly never reaches it.
 * When this deadline passes, it closes the attempt's socket instead.
 */
final class Deadline {

  private final Duration timeout;
  private final long endNanos;

  // Guarded by this.
  private @Nullable Socket socket;
  private boolean passed;

  Deadline(Duration timeout) {
    this.timeout = timeout;
    this.endNanos = System.nanoTime() + timeout.toNanos();
  }

  /** The whole duration, from the start. */
  Duration timeout() {
    return timeout;
  }

  Duration left() {
    return Duration.ofNanos(Math.max(0, endNanos - System.nanoTime()));
  }

  synchronized boolean hasPassed() {
    return passed || left().isZero();
  }

  /** Closes the socket when the deadline passes, or immediately if it has passed. */
  synchronized void guard(Socket socket) {
    this.socket = socket;
    if (passed) {
      Connection.abort(socket);
    }
  }

  /** Stops guarding the socket; returns false if the deadline has already closed it. */
  synchronized boolean release() {
    socket = null;
    return !passed;
  }

  /** Called by the timer. Must not block: the deadlines of all attempts share its thread. */
  synchronized void pass() {
    passed = true;
    if (socket != null) {
      Connection.abort(socket);
    }
  }
}
