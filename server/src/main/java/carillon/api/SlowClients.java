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

  private final Duration patience;
  private final SocketOptions options;
  private final Map<SocketAddress, Watched> connections = new ConcurrentHashMap<>();
  private final Thread sweeper;

  /** A connection. */
  private static final class Watched {

    private static final long NEVER = Long.MIN_VALUE;

    private final SocketChannel channel;

    /** Since when it is the client's turn; NEVER while it is ours. */
    private volatile long waitingSince = System.nanoTime();

    Watched(SocketChannel channel) {
      this.channel = channel;
    }

    boolean isTooSlow(Duration patience) {
      long since = waitingSince;
      return since != NEVER && System.nanoTime() - since > patience.toNanos();
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
        connections.put(client, new Watched(channel));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void prologue(ConnectionContext connection, HttpPrologue prologue) {
    turn(connection.remotePeer().address(), true);
  }

  @Override
  public void headers(ConnectionContext connection, Headers headers) {
    turn(connection.remotePeer().address(), false);
  }

  /** From now on the client reads an answer, or thinks about its next request. */
  void waitsFor(SocketAddress client) {
    turn(client, true);
  }

  /** To write what takes its time: only while the client does not read is it waited for. */
  OutputStream watching(SocketAddress client, OutputStream out) {
    return new FilterOutputStream(out) {
      @Override
      public void write(byte[] bytes, int offset, int length) throws IOException {
        turn(client, true);
        out.write(bytes, offset, length);
        turn(client, false);
      }

      @Override
      public void flush() throws IOException {
        turn(client, true);
        out.flush();
        turn(client, false);
      }
    };
  }

  /** Closes the connection of a client that was waited for long enough. */
  void drop(SocketAddress client) {
    Watched watched = connections.get(client);
    if (watched != null) {
      close(client, watched);
    }
  }

  private void turn(SocketAddress client, boolean ofClient) {
    Watched watched = connections.get(client);
    if (watched != null) {
      watched.waitingSince = ofClient ? System.nanoTime() : Watched.NEVER;
    }
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

  private void sweepOne(SocketAddress client, Watched watched) {
    if (watched.isTooSlow(patience)) {
      close(client, watched);
    } else if (!watched.channel.isOpen()) {
      connections.remove(client, watched);
    }
  }

  private void close(SocketAddress client, Watched watched) {
    connections.remove(client, watched);
    try {
      watched.channel.close();
    } catch (IOException e) {
      LOG.debug("connection of {} closed with an error", client, e);
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
