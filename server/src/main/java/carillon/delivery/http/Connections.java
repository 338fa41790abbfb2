package carillon.delivery.http;

import carillon.model.TenantId;
import carillon.model.target.TargetUrl;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLSocketFactory;
import org.jspecify.annotations.Nullable;

/** Opens connections, and keeps idle ones for reuse. */
final class Connections implements AutoCloseable {

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(3);
  private static final int MAX_DIALLED = 4;
  private static final int MAX_IDLE = 2_000;

  private final SSLSocketFactory tls;

  // Guarded by this.
  private final Map<Connection.Key, Deque<Connection>> idle = new HashMap<>();
  private int idleCount;
  private boolean closed;

  Connections(SSLSocketFactory tls) {
    this.tls = tls;
  }

  /** A connection to one of the vetted addresses, guarded by the deadline. */
  Connection to(TargetUrl url, List<InetAddress> addresses, TenantId tenant, Deadline deadline)
      throws IOException {
    for (InetAddress address : addresses) {
      Connection kept = takeQuiet(Connection.Key.of(tenant, url, address));
      if (kept != null) {
        kept.guardBy(deadline);
        return kept;
      }
    }
    return dial(url, addresses, tenant, deadline);
  }

  /** Tries one address after another: names often have one that is unreachable from here. */
  private Connection dial(
      TargetUrl url, List<InetAddress> addresses, TenantId tenant, Deadline deadline)
      throws IOException {
    var connecting = new Deadline(CONNECT_TIMEOUT);
    int tries = Math.min(addresses.size(), MAX_DIALLED);
    for (int i = 0; i < tries; i++) {
      try {
        Duration share = connecting.left().dividedBy(tries - i);
        var key = Connection.Key.of(tenant, url, addresses.get(i));
        return Connection.open(key, share, tls, deadline);
      } catch (ConnectException e) {
        if (deadline.hasPassed() || Thread.currentThread().isInterrupted()) {
          throw e;
        }
      }
    }
    throw new ConnectException("no address is reachable");
  }

  private @Nullable Connection takeQuiet(Connection.Key key) {
    Connection connection = take(key);
    while (connection != null && (connection.isTooOld() || !connection.isQuiet())) {
      connection.close();
      connection = take(key);
    }
    return connection;
  }

  private synchronized @Nullable Connection take(Connection.Key key) {
    Deque<Connection> kept = idle.get(key);
    if (kept == null) {
      return null;
    }
    idleCount--;
    Connection newest = kept.removeLast();
    if (kept.isEmpty()) {
      idle.remove(key);
    }
    return newest;
  }

  /** Takes back a connection that has no response pending and no deadline. */
  void keep(Connection connection) {
    connection.markUsed();
    if (!offer(connection)) {
      connection.close();
    }
  }

  private synchronized boolean offer(Connection connection) {
    if (closed || idleCount >= MAX_IDLE || connection.isTooOld()) {
      return false;
    }
    idle.computeIfAbsent(connection.key(), _ -> new ArrayDeque<>()).addLast(connection);
    idleCount++;
    return true;
  }

  /** Closes connections that are too old to be reused. */
  void sweep() {
    removeOld().forEach(Connection::close);
  }

  private synchronized List<Connection> removeOld() {
    List<Connection> old = new ArrayList<>();
    for (Deque<Connection> kept : idle.values()) {
      kept.stream().filter(Connection::isTooOld).forEach(old::add);
      kept.removeIf(Connection::isTooOld);
    }
    idle.values().removeIf(Deque::isEmpty);
    idleCount = idle.values().stream().mapToInt(Deque::size).sum();
    return old;
  }

  @Override
  public synchronized void close() {
    closed = true;
    idle.values().forEach(kept -> kept.forEach(Connection::close));
    idle.clear();
    idleCount = 0;
  }
}
