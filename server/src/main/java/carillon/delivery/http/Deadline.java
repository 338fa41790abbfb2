package carillon.delivery.http;

import java.net.Socket;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The end of one attempt, whatever the attempt is doing by then.
 *
 * <p>Socket timeouts start anew with every byte, so a target that trickles never meets one. When
 * this deadline passes, the socket is closed under the attempt instead.
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

  /** How long it was from the start. */
  Duration timeout() {
    return timeout;
  }

  Duration left() {
    return Duration.ofNanos(Math.max(0, endNanos - System.nanoTime()));
  }

  synchronized boolean hasPassed() {
    return passed || left().isZero();
  }

  /** Closes the socket when the time comes, or at once if it has come. */
  synchronized void watch(Socket socket) {
    this.socket = socket;
    if (passed) {
      Connection.abort(socket);
    }
  }

  /** Leaves the socket alone from now on; false if that comes too late. */
  synchronized boolean release() {
    socket = null;
    return !passed;
  }

  /** Called by the timer. Must not block: every attempt's deadline waits behind this one. */
  synchronized void pass() {
    passed = true;
    if (socket != null) {
      Connection.abort(socket);
    }
  }
}
