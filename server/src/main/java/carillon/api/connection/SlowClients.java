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
 * Owns the connections of all clients: how many there may be, and how long is waited for them. The
 * server has no such limits of its own but the number of connections, and at that it stops to
 * accept: then nobody can ask how the node is.
 *
 * <p>It hears of a new connection as the options with which the server configures every channel
 * that it accepts.
 */
public final class SlowClients implements SocketOptions, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SlowClients.class);

  /** How long is waited for a client, whatever it is that it should do. */
  public static final Duration PATIENCE = Duration.ofSeconds(8);

  /**
   * A system wakes a thread that writes when a third of what it holds for the client is taken, and
   * by default it holds up to 4 MB: a client that took 50 kB/s was seen to take nothing for 24 s.
   * With this it is seen to take some 100 kB at a time. Between two continents (100 ms) an answer
   * still goes at 2 MB/s.
   */
  private static final int SEND_BUFFER_BYTES = 128 << 10;

  private static final Duration PERIOD = Duration.ofMillis(250);

  private static final Duration LOG_PERIOD = Duration.ofMinutes(1);

  /**
   * How many connections there may be.
   *
   * @param all in all, from any address
   * @param perAddress from one IPv4 address, or one /64 of IPv6
   * @param reserve beyond these, for questions about the node itself
   */
  public record Most(int all, int perAddress, int reserve) {}

  private final Duration patience;
  private final Most most;
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
   * Tells connections apart, also when a client has got the port of another that is gone.
   *
   * @param id as the server calls the socket
   */
  private record Key(String id, SocketAddress address) {

    static Key of(SocketChannel channel, SocketAddress address) {
      return new Key("0x" + HexFormat.of().toHexDigits(System.identityHashCode(channel)), address);
    }
  }

  public SlowClients(Duration patience, Most most, MeterRegistry metrics) {
    this.patience = patience;
    this.most = most;
    Gauge.builder("carillon.connections", connections, Map::size)
        .description("open connections of clients to the API of this node")
        .register(metrics);
    for (ClientConnection.Drop reason : ClientConnection.Drop.values()) {
      dropped.put(
          reason,
          Counter.builder("carillon.connections.dropped")
              .description("connections of clients that this node closed or refused, by reason")
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
   * Takes in a connection. Where there are too many, it takes the place of one that is idle, which
   * HTTP allows to close at any time: so however many connections are open, the node can be asked
   * how it is.
   *
   * @throws CloseConnectionException if it is one too many even so
   */
  ClientConnection accept(SocketChannel channel) throws IOException {
    SocketAddress address = Objects.requireNonNull(channel.getRemoteAddress(), "not connected");
    Object origin = origin(address);
    Set<ClientConnection> same = byAddress.getOrDefault(origin, Set.of());
    ClientConnection.Drop full = null;
    if (same.size() >= most.perAddress() && !makeRoom(same, ClientConnection::idleSince)) {
      full = ClientConnection.Drop.ADDRESS_LIMIT;
    } else if (connections.size() - reserved.size() >= most.all()
        && !makeRoom(connections.values(), ClientConnection::idleSince)) {
      full = ClientConnection.Drop.CONNECTION_LIMIT;
    }
    if (full != null) {
      logFull(full, address);
      if (reserved.size() >= most.reserve()
          && !makeRoom(reserved, ClientConnection::waitingSince)) {
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

  /** Closes the one that has waited longest, if any, and rather one that has never asked. */
  private boolean makeRoom(
      Collection<ClientConnection> among, Function<ClientConnection, @Nullable Long> waiting) {
    long now = System.nanoTime();
    ClientConnection longest = null;
    long longestWait = -1;
    for (ClientConnection each : among) {
      Long since = waiting.apply(each);
      if (since == null) {
        continue;
      }
      long wait = now - since;
      boolean isBetter =
          longest == null
              || (each.hasAsked() == longest.hasAsked() ? wait > longestWait : longest.hasAsked());
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

  /** A client with an IPv6 address has 2^64 of them. */
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
          "too many connections and none of them idle reason={} address={} connections={}"
              + " max_per_address={} max={}",
          reason.label(),
          address,
          connections.size(),
          most.perAddress(),
          most.all());
    }
  }

  private void count(ClientConnection.Drop reason) {
    Objects.requireNonNull(dropped.get(reason)).increment();
  }

  /**
   * The connection that the server is about to serve.
   *
   * @throws CloseConnectionException if it was closed meanwhile
   */
  ClientConnection of(ConnectionContext context) {
    ClientConnection found =
        connections.get(new Key(context.childSocketId(), context.remotePeer().address()));
    if (found == null) {
      throw new CloseConnectionException("the connection was closed to make room");
    }
    return found;
  }

  /** It is gone, or as good as gone. */
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
      log.error("sweep of connections failed", e); // without it nobody would ever be dropped
    }
  }

  private void sweepOne(ClientConnection connection, long now) {
    ClientConnection.Drop reason = connection.sweep(now, patience);
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
