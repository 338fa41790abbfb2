package carillon.api;

import io.helidon.http.Headers;
import io.helidon.http.HttpPrologue;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.http1.Http1ConnectionListener;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Closes connections whose clients send their headers or take their answers too slowly. The
 * server's own timeouts are per read, so that a byte per second would hold a connection for ever;
 * and it has none for writes.
 */
final class SlowClients implements Http1ConnectionListener, AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(8);
  private static final Duration PERIOD = Duration.ofSeconds(1);

  /** Longer than any request: what is left by then belongs to a connection that is gone. */
  private static final Duration FORGOTTEN = Duration.ofMinutes(5);

  private final Map<String, Watched> connections = new ConcurrentHashMap<>();
  private final Thread sweeper;

  /**
   * A connection that waits for its client, or for us.
   *
   * @param waiting whether it is the client's turn
   */
  private record Watched(ConnectionContext connection, long since, boolean waiting) {}

  SlowClients() {
    sweeper = Thread.ofPlatform().daemon().name("slow-clients").start(this::sweep);
  }

  @Override
  public void prologue(ConnectionContext connection, HttpPrologue prologue) {
    connections.put(connection.childSocketId(), new Watched(connection, System.nanoTime(), true));
  }

  @Override
  public void headers(ConnectionContext connection, Headers headers) {
    connections.put(connection.childSocketId(), new Watched(connection, System.nanoTime(), false));
  }

  /** From now on the client reads an answer. */
  void answering(String socketId) {
    connections.computeIfPresent(
        socketId, (_, watched) -> new Watched(watched.connection(), System.nanoTime(), true));
  }

  void done(String socketId) {
    connections.remove(socketId);
  }

  @SuppressWarnings("BusyWait")
  private void sweep() {
    try {
      while (true) {
        Thread.sleep(PERIOD);
        long now = System.nanoTime();
        connections.forEach(
            (id, watched) -> sweepOne(id, watched, Duration.ofNanos(now - watched.since())));
      }
    } catch (InterruptedException e) {
      // Closed.
    }
  }

  private void sweepOne(String id, Watched watched, Duration age) {
    boolean tooSlow = watched.waiting() && age.compareTo(PATIENCE) > 0;
    if (tooSlow || age.compareTo(FORGOTTEN) > 0) {
      connections.remove(id, watched);
    }
    if (tooSlow) {
      watched.connection().serverSocket().close();
    }
  }

  @Override
  public void close() {
    sweeper.interrupt();
  }
}
