package carillon.api;

import io.helidon.common.socket.SocketOptions;
import io.helidon.http.Headers;
import io.helidon.http.HttpPrologue;
import io.helidon.webserver.ConnectionContext;
import io.helidon.webserver.http1.Http1ConnectionListener;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes connections whose clients are silent, send their headers too slowly, or do not take their
 * answers. The server has no such limits of its own: it applies no read timeout to accepted
 * channels, and has none at all for the time that a whole head or an answer takes.
 *
 * <p>It hears of a new connection as the options with which the server configures every channel
 * that it accepts.
 */
final class SlowClients implements SocketOptions, Http1ConnectionListener, AutoCloseable {

  private static final Logger LOG = LoggerFactory.getLogger(SlowClients.class);

  static final Duration PATIENCE = Duration.ofSeconds(8);
  private static final Duration PERIOD = Duration.ofSeconds(1);

  /** One that is closed already. */
  private static final Connection GONE = new Connection(null);

  private final Duration patience;
  private final SocketOptions options;
  private final Map<SocketAddress, Connection> connections = new ConcurrentHashMap<>();
  private final Thread sweeper;

  /**
   * A connection. Who answers on it holds it, and not the client's address: that may be another
   * connection's by the time a dead one is noticed.
   */
  static final class Connection {

    private static final long NEVER = Long.MIN_VALUE;

    private final @Nullable SocketChannel channel;

    /** Since when it is the client's turn; NEVER while it is ours. */
    private volatile long waitingSince = System.nanoTime();

    private Connection(@Nullable SocketChannel channel) {
      this.channel = channel;
    }

    /** From now on the client reads an answer, or thinks about its next request. */
    void waits() {
      waitingSince = System.nanoTime();
    }

    private void works() {
      waitingSince = NEVER;
    }

    /** To write what takes its time: only while the client does not read is it waited for. */
    OutputStream watching(OutputStream out) {
      return new FilterOutputStream(out) {
        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
          waits();
          out.write(bytes, offset, length);
          works();
        }

        @Override
        public void flush() throws IOException {
          waits();
          out.flush();
          works();
        }
      };
    }

    /** Closes the connection of a client that was waited for long enough. */
    void drop() {
      try {
        if (channel != null) {
          channel.close();
        }
      } catch (IOException e) {
        LOG.debug("a connection closed with an error", e);
      }
    }

    private boolean isTooSlow(Duration patience) {
      long since = waitingSince;
      return since != NEVER && System.nanoTime() - since > patience.toNanos();
    }

    private boolean isOpen() {
      return channel != null && channel.isOpen();
    }
  }

  SlowClients(Duration patience) {
    this.patience = patience;
    this.options = SocketOptions.builder().readTimeout(patience).tcpNoDelay(true).build();
    sweeper = Thread.ofPlatform().daemon().name("slow-clients").unstarted(this::sweep);
    sweeper.start();
  }

  @Override
  public void configureSocket(SocketChannel channel) {
    options.configureSocket(channel);
    try {
      channel.socket().setSoTimeout(Math.toIntExact(patience.toMillis()));
      SocketAddress client = channel.getRemoteAddress();
      if (client != null) {
        connections.put(client, new Connection(channel));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void prologue(ConnectionContext connection, HttpPrologue prologue) {
    of(connection.remotePeer().address()).waits();
  }

  @Override
  public void headers(ConnectionContext connection, Headers headers) {
    of(connection.remotePeer().address()).works();
  }

  /**
   * The connection of a client that has just sent something; {@link #GONE} if it was closed. Not to
   * be asked later in the request: the address may be another connection's by then.
   */
  Connection of(SocketAddress client) {
    return connections.getOrDefault(client, GONE);
  }

  private void sweep() {
    try {
      while (true) {
        Thread.sleep(PERIOD);
        connections.forEach(this::sweepOne);
      }
    } catch (InterruptedException e) {
      LOG.debug("stopped");
    }
  }

  private void sweepOne(SocketAddress client, Connection connection) {
    if (connection.isTooSlow(patience)) {
      connection.drop();
    }
    if (!connection.isOpen()) {
      connections.remove(client, connection);
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
