package carillon.api.connection;

import io.helidon.common.socket.PeerInfo;
import io.helidon.webserver.http.ServerRequest;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SocketChannel;
import java.security.Principal;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection of a client: what it waits for and since when. Its own thread records that, at the
 * cost of one volatile write for each read and each write; {@link SlowClients} checks it
 * periodically. A socket timeout would cost a timer for each read instead.
 */
public final class ClientConnection {

  private static final Logger log = LoggerFactory.getLogger(ClientConnection.class);

  /** Larger bodies and responses must keep up {@link #MIN_RATE}. */
  static final int LARGE_BODY = 64 << 10;

  /**
   * Bytes a second that a client must send of a large body, or read of a large response, in each
   * window. A modem is faster; only a client that holds memory and a connection on purpose is
   * slower, or one whose upload would miss its deadline anyway.
   */
  static final int MIN_RATE = 8 << 10;

  private static final long NEVER = Long.MIN_VALUE;

  /** What the node waits for. */
  enum Wait {
    NEXT_REQUEST,
    HEAD,
    BODY,
    /** The client reads the response. */
    RESPONSE,
    /** The client stops sending a body that is not read, after it got its response. */
    LINGER
  }

  /** Why this node closed a connection or stopped reading from it. */
  enum Drop {
    IDLE,
    SLOW_HEAD,
    STALLED_BODY,
    SLOW_BODY,
    BODY_DEADLINE,
    SLOW_READER,
    /** Closed while idle, to make room for a new connection. */
    MADE_ROOM,
    /** Rejected: too many from its address, and none of them idle. */
    ADDRESS_LIMIT,
    /** Rejected: too many in all, and none of them idle. */
    CONNECTION_LIMIT;

    String label() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final SocketChannel channel;
  private final Object key;
  private final Object origin;
  private final boolean reserved;

  // Written before waitingSince, and so visible to a thread that reads it afterwards.
  private Wait wait = Wait.NEXT_REQUEST;
  private boolean hasRequested;
  private final Progress body = new Progress();
  private final Progress response = new Progress();

  /** When the client's turn began; NEVER while it is ours. */
  private volatile long waitingSince = System.nanoTime();

  private volatile long bodyDeadline = NEVER;
  private volatile @Nullable Drop cut;

  // Used by the connection's thread only.
  private long headSince;
  private long waitingFrom; // bodies and responses are timed from it

  /**
   * @param key identifies it among all connections
   * @param origin the same for connections from one client address
   * @param reserved whether it is beyond the limit, and gets only health checks and metrics
   */
  ClientConnection(SocketChannel channel, Object key, Object origin, boolean reserved) {
    this.channel = channel;
    this.key = key;
    this.origin = origin;
    this.reserved = reserved;
  }

  /** The connection as the web server knows it: the other end of the socket. */
  public record Peer(ClientConnection connection, RequestFraming framing, PeerInfo info)
      implements PeerInfo {

    public static Peer of(ServerRequest request) {
      return (Peer) request.remotePeer();
    }

    @Override
    public SocketAddress address() {
      return info.address();
    }

    @Override
    public String host() {
      return info.host();
    }

    @Override
    public int port() {
      return info.port();
    }

    @Override
    public Optional<Principal> tlsPrincipal() {
      return info.tlsPrincipal();
    }

    @Override
    public Optional<Certificate[]> tlsCertificates() {
      return info.tlsCertificates();
    }
  }

  Object key() {
    return key;
  }

  Object origin() {
    return origin;
  }

  public boolean isReserved() {
    return reserved;
  }

  /** The client's turn begins. */
  void waits(Wait next) {
    long now = System.nanoTime();
    if (next == Wait.HEAD && wait == Wait.HEAD) {
      now = headSince; // the timeout is for the whole head, not for each byte
    } else if (next == Wait.HEAD) {
      headSince = now;
    }
    waitingFrom = now;
    wait = next;
    waitingSince = now;
  }

  /** Our turn begins. */
  void works() {
    waitingSince = NEVER;
  }

  /**
   * Counts received bytes of a body.
   *
   * @param bytes 0 at the end of the connection
   */
  void arrived(int bytes) {
    body.moved(bytes, System.nanoTime() - waitingFrom);
  }

  /** Counts bytes of a response that the client has read. */
  void taken(int bytes) {
    response.moved(bytes, System.nanoTime() - waitingFrom);
  }

  /**
   * A request was received, and its body follows.
   *
   * @param length -1 if it is not known in advance
   */
  void bodyStarts(long length) {
    body.starts(length);
    bodyDeadline = NEVER;
  }

  /** Sets the time by which the body must be complete, as {@link System#nanoTime}. */
  void bodyUntil(long deadline) {
    bodyDeadline = deadline;
  }

  /** A request was received, and its response follows. */
  public void requested() {
    hasRequested = true;
    response.starts(-1);
  }

  /** Closes it, whatever it is doing. */
  public void drop() {
    try {
      channel.close();
    } catch (IOException e) {
      log.debug("connection closed with an error", e);
    }
  }

  /** Stops reading, so that the client can still get an error response. */
  private void cut(Drop reason) {
    cut = reason;
    try {
      channel.shutdownInput();
    } catch (IOException e) {
      log.debug("connection closed while its input was shut down", e);
    }
  }

  /** Signals the client that the response is complete. */
  void endOutput() throws IOException {
    channel.shutdownOutput();
  }

  boolean isCut() {
    return cut != null;
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  /** When it became idle, so that HTTP allows to close it at any time; null if it is not idle. */
  @Nullable Long idleSince() {
    long since = waitingSince;
    return since == NEVER || wait != Wait.NEXT_REQUEST ? null : since;
  }

  /** When the current wait for the client began; null while it is our turn. */
  @Nullable Long waitingSince() {
    long since = waitingSince;
    return since == NEVER ? null : since;
  }

  /** Whether it has sent a request. */
  boolean hasRequested() {
    return hasRequested;
  }

  /**
   * Closes the connection, or stops reading from it, if its client is too slow.
   *
   * @return the reason; null if the client is not too slow
   */
  @Nullable Drop sweep(long now, Duration timeout) {
    long since = waitingSince;
    if (since == NEVER) {
      return null;
    }
    boolean isLate = now - since > timeout.toNanos();
    return switch (wait) {
      case NEXT_REQUEST -> isLate && !hasUnreadBytes() ? dropped(Drop.IDLE) : null;
      case HEAD -> isLate && !hasUnreadBytes() ? cutOff(Drop.SLOW_HEAD) : null;
      case BODY -> {
        Drop reason = slowBody(now, since, timeout);
        yield reason == null ? null : cutOff(reason);
      }
      case RESPONSE ->
          isLate || response.isBelowRate(now - since, timeout) ? dropped(Drop.SLOW_READER) : null;
      case LINGER -> {
        if (now - since > timeout.toNanos() / 4) {
          drop(); // it has its response
        }
        yield null;
      }
    };
  }

  /**
   * Whether the client has sent bytes that this connection's thread has not read yet. On an
   * overloaded machine that thread may wait for a core longer than the timeout; the client has then
   * done its part.
   */
  private boolean hasUnreadBytes() {
    try {
      return channel.socket().getInputStream().available() > 0;
    } catch (IOException e) {
      log.debug("connection closed during the sweep", e);
      return false;
    }
  }

  private Drop dropped(Drop reason) {
    drop();
    return reason;
  }

  private @Nullable Drop cutOff(Drop reason) {
    if (cut != null) {
      return null;
    }
    cut(reason);
    return reason;
  }

  private @Nullable Drop slowBody(long now, long since, Duration timeout) {
    boolean isStalled = now - since > timeout.toNanos();
    boolean isTooSlow = isStalled || body.isBelowRate(now - since, timeout);
    if (isTooSlow && !hasUnreadBytes()) {
      return isStalled ? Drop.STALLED_BODY : Drop.SLOW_BODY;
    }
    long deadline = bodyDeadline;
    return deadline != NEVER && now - deadline > 0 ? Drop.BODY_DEADLINE : null;
  }

  /** How many bytes of a body or response were transferred, and how long the client took. */
  private static final class Progress {

    // Written by the connection's thread, before waitingSince.
    private long waited;
    private long bytes;
    private long length;
    private int count;

    // Used by the sweeper only.
    private int window;
    private long windowWaited;
    private long windowBytes;

    /**
     * The next body or response starts.
     *
     * @param expected its length, -1 if it is not known in advance
     */
    void starts(long expected) {
      waited = 0;
      bytes = 0;
      length = expected;
      count++;
    }

    void moved(int more, long waitedFor) {
      bytes += more;
      waited += waitedFor;
    }

    /** Counts only the time that the node waited for the client. */
    boolean isBelowRate(long waitedNow, Duration timeout) {
      long sum = waited + waitedNow;
      if (window != count) {
        window = count;
        windowWaited = 0;
        windowBytes = 0;
      }
      if (sum - windowWaited < timeout.toNanos()) {
        return false;
      }
      long expected = (sum - windowWaited) / 1_000_000 * MIN_RATE / 1_000;
      boolean isLarge = length > LARGE_BODY || bytes > LARGE_BODY;
      boolean isSlow = isLarge && bytes - windowBytes < expected;
      windowWaited = sum;
      windowBytes = bytes;
      return isSlow;
    }
  }
}
