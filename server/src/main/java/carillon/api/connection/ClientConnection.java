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
 * One connection of a client: what is being waited for on it and since when. Its own thread writes
 * that down, which costs one volatile write for each read and each write; {@link SlowClients} looks
 * at it from time to time. A socket timeout would cost a timer for each read instead.
 */
public final class ClientConnection {

  private static final Logger log = LoggerFactory.getLogger(ClientConnection.class);

  /** Bodies and answers from this size on must keep up {@link #MIN_RATE}. */
  static final int LARGE_BODY = 64 << 10;

  /**
   * Bytes a second that a client must send of a large body, or take of a large answer, in each
   * window. A modem is faster; slower is only a client that holds memory and a connection on
   * purpose, or one whose upload would not end before its deadline anyway.
   */
  static final int MIN_RATE = 8 << 10;

  private static final long NEVER = Long.MIN_VALUE;

  /** What is being waited for. */
  enum Wait {
    NEXT_REQUEST,
    HEAD,
    BODY,
    /** The client takes the answer. */
    ANSWER,
    /** The client stops sending what nobody reads, after it got its answer. */
    LINGER
  }

  /** Why a connection was closed by us, or its client not listened to any longer. */
  enum Drop {
    IDLE,
    SLOW_HEAD,
    STALLED_BODY,
    SLOW_BODY,
    BODY_DEADLINE,
    SLOW_READER,
    /** Closed in favour of a new connection, because it was idle and there were too many. */
    MADE_ROOM,
    /** Refused: too many from its address, and none of them idle. */
    ADDRESS_LIMIT,
    /** Refused: too many in all, and none of them idle. */
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
  private boolean hasAsked;
  private final Progress body = new Progress();
  private final Progress answer = new Progress();

  /** Since when it is the client's turn; NEVER while it is ours. */
  private volatile long waitingSince = System.nanoTime();

  private volatile long bodyDeadline = NEVER;
  private volatile @Nullable Drop cut;

  // Of the connection's thread alone.
  private long headSince;
  private long waitingFrom; // what bodies and answers are timed by

  /**
   * @param key under which it is found
   * @param origin what connections from one place have in common
   * @param reserved it is one too many, and only gets answers about the node itself
   */
  ClientConnection(SocketChannel channel, Object key, Object origin, boolean reserved) {
    this.channel = channel;
    this.key = key;
    this.origin = origin;
    this.reserved = reserved;
  }

  /** A connection as the server knows it: the other end of the socket. */
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

  /** From now on it is the client's turn. */
  void waits(Wait next) {
    long now = System.nanoTime();
    if (next == Wait.HEAD && wait == Wait.HEAD) {
      now = headSince; // for all of it, not for each byte
    } else if (next == Wait.HEAD) {
      headSince = now;
    }
    waitingFrom = now;
    wait = next;
    waitingSince = now;
  }

  /** From now on it is our turn. */
  void works() {
    waitingSince = NEVER;
  }

  /**
   * Counts what has arrived of a body.
   *
   * @param bytes 0 at the end of the connection
   */
  void arrived(int bytes) {
    body.moved(bytes, System.nanoTime() - waitingFrom);
  }

  /** Counts what the client has taken of an answer. */
  void taken(int bytes) {
    answer.moved(bytes, System.nanoTime() - waitingFrom);
  }

  /**
   * A request has come whose body follows.
   *
   * @param length -1 if it is not known in advance
   */
  void bodyStarts(long length) {
    body.starts(length);
    bodyDeadline = NEVER;
  }

  /** The body must be there by then, by {@link System#nanoTime}. */
  void bodyUntil(long deadline) {
    bodyDeadline = deadline;
  }

  /** A request has come, and its answer follows. */
  public void asked() {
    hasAsked = true;
    answer.starts(-1);
  }

  /** Closes it, whatever it is doing. */
  public void drop() {
    try {
      channel.close();
    } catch (IOException e) {
      log.debug("a connection closed with an error", e);
    }
  }

  /** Ends what the client sends, so that it can still be told why. */
  private void cut(Drop reason) {
    cut = reason;
    try {
      channel.shutdownInput();
    } catch (IOException e) {
      log.debug("a connection closed while it was cut off", e);
    }
  }

  /** Tells the client that nothing more comes. */
  void endOutput() throws IOException {
    channel.shutdownOutput();
  }

  boolean isCut() {
    return cut != null;
  }

  boolean isOpen() {
    return channel.isOpen();
  }

  /** Since when it has been idle, which HTTP allows to close at any time; null if it is not. */
  @Nullable Long idleSince() {
    long since = waitingSince;
    return since == NEVER || wait != Wait.NEXT_REQUEST ? null : since;
  }

  /** Since when nothing of its request has been answered; null if it is being answered. */
  @Nullable Long waitingSince() {
    long since = waitingSince;
    return since == NEVER ? null : since;
  }

  /** Whether it has sent a request. */
  boolean hasAsked() {
    return hasAsked;
  }

  /**
   * Closes it or cuts it off if its client is too slow.
   *
   * @return why; null if it is not
   */
  @Nullable Drop sweep(long now, Duration patience) {
    long since = waitingSince;
    if (since == NEVER) {
      return null;
    }
    boolean isLate = now - since > patience.toNanos();
    return switch (wait) {
      case NEXT_REQUEST -> isLate && !hasUnreadBytes() ? dropped(Drop.IDLE) : null;
      case HEAD -> isLate && !hasUnreadBytes() ? cutOff(Drop.SLOW_HEAD) : null;
      case BODY -> {
        boolean isStalled = isLate && !hasUnreadBytes();
        Drop reason = isStalled ? Drop.STALLED_BODY : slowBody(now, since, patience);
        yield reason == null ? null : cutOff(reason);
      }
      case ANSWER ->
          isLate || answer.isBelowRate(now - since, patience) ? dropped(Drop.SLOW_READER) : null;
      case LINGER -> {
        if (now - since > patience.toNanos() / 4) {
          drop(); // it has its answer
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
      LOG.debug("a connection closed while it was swept", e);
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

  private @Nullable Drop slowBody(long now, long since, Duration patience) {
    long deadline = bodyDeadline;
    if (deadline != NEVER && now - deadline > 0) {
      return Drop.BODY_DEADLINE;
    }
    return body.isBelowRate(now - since, patience) ? Drop.SLOW_BODY : null;
  }

  /** How much of a body or of an answer has moved, and how long the client was waited for. */
  private static final class Progress {

    // Of the connection's thread; written before waitingSince.
    private long waited;
    private long bytes;
    private long length;
    private int count;

    // Of the sweeper alone.
    private int window;
    private long windowWaited;
    private long windowBytes;

    /**
     * The next one starts.
     *
     * @param expected its length, -1 if that is not known in advance
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

    /** Counts only the time that we waited for the client, not the time it waited for us. */
    boolean isBelowRate(long waitedNow, Duration patience) {
      long sum = waited + waitedNow;
      if (window != count) {
        window = count;
        windowWaited = 0;
        windowBytes = 0;
      }
      if (sum - windowWaited < patience.toNanos()) {
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
