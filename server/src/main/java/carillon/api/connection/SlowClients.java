package carillon.api.connection;

import io.helidon.common.socket.SocketOptions;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.ConnectionContext;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns the connections of all clients: limits their number and disconnects slow clients. The web
 * server only limits the number of connections, and stops accepting at that limit: then health
 * checks fail too.
 *
 * <p>The server calls it as the socket options of every channel that it accepts.
 */
public final class SlowClients implements SocketOptions, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SlowClients.class);

  /** How long to wait for a client to send or read something. */
  public static final Duration CLIENT_TIMEOUT = Duration.ofSeconds(8);

  /**
   * The operating system wakes a writing thread when a third of its buffer was sent, and by default
   * the buffer grows to 4 MB: a client that read 50 kB/s appeared to read nothing for 24 s. With
   * this size, progress is visible every 100 kB. Between two continents (100 ms) a response still
   * goes at 2 MB/s.
   */
  private static final int SEND_BUFFER_BYTES = 128 << 10;

  private static final Duration PERIOD = Duration.ofMillis(250);

  private static final Duration LOG_PERIOD = Duration.ofMinutes(1);

  /**
   * The maximum numbers of connections.
   *
   * @param all from all addresses together
   * @param perAddress from one IPv4 address, or one /64 of IPv6
   * @param reserve in addition, for health checks and metrics
   */
  public record Max(int all, int perAddress, int reserve) {}

  private final Duration timeout;
  private final Max max;
  private final SocketOptions options =
      SocketOptions.builder().tcpNoDelay(true).socketSendBufferSize(SEND_BUFFER_BYTES).build();
  private final Map<Object, ClientConnection> connections = new ConcurrentHashMap<>();
  private final Map<Object, Set<ClientConnection>> byAddress = new ConcurrentHashMap<>();
  private final Set<ClientConnection> reserved = ConcurrentHashMap.newKeySet();
  private final Map<ClientConnection.Drop, Counter> dropped =
      new EnumMap<>(ClientConnection.Drop.class);
  private final AtomicLong loggedAt = new AtomicLong(System.nanoTime() - LOG_PERIOD.toNanos());
  private final Thread sweeper;

  /**
   * Identifies a connection, also when a client reuses the port of an earlier one.
   *
   * @param id the server's name for the socket
   */
  private record Key(String id, SocketAddress address) {

    static Key of(SocketChannel channel, SocketAddress address) {
      return new Key("0x" + HexFormat.of().toHexDigits(System.identityHashCode(channel)), address);
    }
  }

  public SlowClients(Duration timeout, Max max, MeterRegistry metrics) {
    this.timeout = timeout;
    this.max = max;
    Gauge.builder("carillon.connections", connections, Map::size)
        .description("Open connections of clients to the API of this node")
        .register(metrics);
    for (ClientConnection.Drop reason : ClientConnection.Drop.values()) {
      dropped.put(
          reason,
          Counter.builder("carillon.connections.dropped")
              .description("Connections of clients that this node closed or rejected, by reason")
              .tag("reason", reason.label())
              .register(metrics));
    }
    sweeper = Thread.ofPlatform().daemon().name("slow-clients").unstarted(this::sweep);
    sweeper.start();
  }

  @Override
  public void configureSocket(SocketChannel channel) {
    options.configureSocket(channel);
    try {
      accept(channel);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Accepts a connection. At the limit it replaces an idle one, which HTTP allows to close at any
   * time, so that health checks get through however many connections are open.
   *
   * @throws CloseConnectionException if there is no idle connection to replace
   */
  ClientConnection accept(SocketChannel channel) throws IOException {
    SocketAddress address = Objects.requireNonNull(channel.getRemoteAddress(), "not connected");
    Object origin = origin(address);
    Set<ClientConnection> same = byAddress.getOrDefault(origin, Set.of());
    ClientConnection.Drop full = null;
    if (same.size() >= max.perAddress() && !makeRoom(same, ClientConnection::idleSince)) {
      full = ClientConnection.Drop.ADDRESS_LIMIT;
    } else if (connections.size() - reserved.size() >= max.all()
        && !makeRoom(connections.values(), SlowClients::regularIdleSince)) {
      full = ClientConnection.Drop.CONNECTION_LIMIT;
    }
    if (full != null) {
      logFull(full, address);
      if (reserved.size() >= max.reserve() && !makeRoom(reserved, ClientConnection::waitingSince)) {
        count(full);
        throw new CloseConnectionException("too many connections");
      }
    }
    Key key = Key.of(channel, address);
    ClientConnection connection = new ClientConnection(channel, key, origin, full != null);
    connections.put(key, connection);
    if (full == null) {
      byAddress.compute(
          origin,
          (_, others) -> {
            Set<ClientConnection> all = others == null ? ConcurrentHashMap.newKeySet() : others;
            all.add(connection);
            return all;
          });
    } else {
      reserved.add(connection);
    }
    return connection;
  }

  /** A reserved connection is not counted, so to close it would make no room. */
  private static @Nullable Long regularIdleSince(ClientConnection connection) {
    return connection.isReserved() ? null : connection.idleSince();
  }

  /** Closes the connection that has waited longest; preferably one that never sent a request. */
  private boolean makeRoom(
      Collection<ClientConnection> among, Function<ClientConnection, @Nullable Long> waitingSince) {
    long now = System.nanoTime();
    ClientConnection longest = null;
    long longestWait = -1;
    for (ClientConnection each : among) {
      Long since = waitingSince.apply(each);
      if (since == null) {
        continue;
      }
      long wait = now - since;
      boolean isBetter =
          longest == null
              || (each.hasRequested() == longest.hasRequested()
                  ? wait > longestWait
                  : longest.hasRequested());
      if (isBetter) {
        longest = each;
        longestWait = wait;
      }
    }
    if (longest == null) {
      return false;
    }
    longest.drop();
    closed(longest);
    count(ClientConnection.Drop.MADE_ROOM);
    return true;
  }

  /** A client with one IPv6 address usually has 2^64 of them. */
  private static Object origin(SocketAddress address) {
    InetAddress ip = address instanceof InetSocketAddress inet ? inet.getAddress() : null;
    if (ip == null) {
      return address;
    }
    byte[] bytes = ip.getAddress();
    return bytes.length == 4 ? ip : ByteBuffer.wrap(bytes).getLong();
  }

  private void logFull(ClientConnection.Drop reason, SocketAddress address) {
    long now = System.nanoTime();
    long last = loggedAt.get();
    if (now - last >= LOG_PERIOD.toNanos() && loggedAt.compareAndSet(last, now)) {
      log.warn(
          "rejected connection, none is idle reason={} address={} connections={}"
              + " max_per_address={} max={}",
          reason.label(),
          address,
          connections.size(),
          max.perAddress(),
          max.all());
    }
  }

  private void count(ClientConnection.Drop reason) {
    Objects.requireNonNull(dropped.get(reason)).increment();
  }

  /**
   * The connection that the server is about to serve.
   *
   * @throws CloseConnectionException if it was closed in the meantime
   */
  ClientConnection of(ConnectionContext context) {
    ClientConnection found =
        connections.get(new Key(context.childSocketId(), context.remotePeer().address()));
    if (found == null) {
      throw new CloseConnectionException("the connection was closed to make room");
    }
    return found;
  }

  /** Removes a connection that is closed or about to be. */
  void closed(ClientConnection connection) {
    if (!connections.remove(connection.key(), connection)) {
      return;
    }
    if (!reserved.remove(connection)) {
      byAddress.computeIfPresent(
          connection.origin(),
          (_, all) -> {
            all.remove(connection);
            return all.isEmpty() ? null : all;
          });
    }
  }

  private void sweep() {
    try {
      while (true) {
        Thread.sleep(PERIOD);
        sweepOnce();
      }
    } catch (InterruptedException e) {
      log.debug("stopped");
    }
  }

  private void sweepOnce() {
    try {
      long now = System.nanoTime();
      connections.values().forEach(each -> sweepOne(each, now));
    } catch (RuntimeException e) {
      log.error("connection sweep failed", e); // slow clients would never be disconnected
    }
  }

  private void sweepOne(ClientConnection connection, long now) {
    ClientConnection.Drop reason = connection.sweep(now, timeout);
    if (reason != null) {
      count(reason);
    }
    if (!connection.isOpen()) {
      closed(connection);
    }
  }

  @Override
  public void close() {
    sweeper.interrupt();
  }

  @Override
  public Map<SocketOption<?>, Object> socketOptions() {
    return options.socketOptions();
  }

  @Override
  public Duration connectTimeout() {
    return options.connectTimeout();
  }

  @Override
  public Duration readTimeout() {
    return options.readTimeout();
  }

  @Override
  public Optional<Integer> socketReceiveBufferSize() {
    return options.socketReceiveBufferSize();
  }

  @Override
  public Optional<Integer> socketSendBufferSize() {
    return options.socketSendBufferSize();
  }

  @Override
  public boolean socketReuseAddress() {
    return options.socketReuseAddress();
  }

  @Override
  public boolean socketKeepAlive() {
    return options.socketKeepAlive();
  }

  @Override
  public boolean tcpNoDelay() {
    return options.tcpNoDelay();
  }
}
