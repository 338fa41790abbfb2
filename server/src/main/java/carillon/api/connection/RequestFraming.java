package carillon.api.connection;

import io.helidon.http.RequestException;
import io.helidon.webserver.CloseConnectionException;
import org.jspecify.annotations.Nullable;

/**
 * Finds where each request on a connection starts and ends, before the server's parser sees a byte.
 * It rejects whatever two parsers could understand differently, and hands over one request at a
 * time in its plainest form: HTTP/1.0 as HTTP/1.1, and chunks without extensions and trailers,
 * never larger than what has arrived.
 *
 * <p>The server's own parser does not check the ends of chunks or empty header names, holds a chunk
 * in memory until all of it is there, does not support HTTP/1.0, and reads the next request from a
 * body that was not read.
 */
public final class RequestFraming {

  /** The part of a request that is read next. */
  enum Part {
    /** Nothing of a request has arrived yet. */
    NEXT_REQUEST,
    HEAD,
    BODY
  }

  /** The connection that the bytes come from. */
  interface Wire {

    /** Waits for bytes; null at the end of the connection. */
    byte @Nullable [] read(Part part);

    /**
     * Called when a head is complete and its body follows.
     *
     * @param length -1 if it is not known in advance
     */
    void bodyStarts(long length);

    /** Whether the connection ended because the client was too slow. */
    boolean isCut();
  }

  private final Wire wire;
  private final Received received;

  // The current request.
  private @Nullable RequestHead head;
  private @Nullable ChunkedBody chunks;
  private long remaining; // of a body with a Content-Length
  private boolean answered = true;

  private boolean ends;
  private boolean broken;

  RequestFraming(Wire wire) {
    this.wire = wire;
    this.received = new Received(wire);
  }

  /** Whether the client closes after this request, because of its version or by a header. */
  public boolean wantsClose() {
    return head != null && head.wantsClose();
  }

  public boolean isHttp10() {
    return head != null && head.isHttp10();
  }

  /**
   * Must be called when the current request has its response.
   *
   * @param last nothing more is read from this connection
   */
  public void answered(boolean last) {
    answered = true;
    ends |= last || !isBodyComplete();
  }

  /** Whether all of the current request is handed over. */
  boolean isBodyComplete() {
    return chunks == null && remaining == 0;
  }

  /** Whether the client may still be sending bytes that will not be read. */
  boolean isUnread() {
    return broken || !isBodyComplete() || !received.isEmpty();
  }

  /**
   * The next bytes for the server's parser: a head, or a part of its body; null if there are no
   * more.
   *
   * @throws RequestException if they are not valid HTTP
   * @throws CloseConnectionException if they end in the middle, or arrive too slowly
   */
  byte @Nullable [] next() {
    if (ends || broken) {
      return null;
    }
    if (isBodyComplete() && !answered) {
      // The parser wants more of a request than there is: it must not get the next one.
      ends = true;
      return null;
    }
    try {
      return isBodyComplete() ? head() : body();
    } catch (RequestException | CloseConnectionException e) {
      broken = true;
      throw e;
    }
  }

  private byte @Nullable [] head() {
    if (received.isEmpty() && !received.fill(Part.NEXT_REQUEST)) {
      return null;
    }
    RequestHead next = new RequestHead(received);
    head = next;
    byte[] bytes = next.read();
    answered = false;
    if (next.isChunked()) {
      chunks = new ChunkedBody(received);
      wire.bodyStarts(-1);
    } else if (next.length() > 0) {
      remaining = next.length();
      wire.bodyStarts(remaining);
    }
    return bytes;
  }

  private byte[] body() {
    ChunkedBody chunked = chunks;
    if (chunked != null) {
      byte[] some = chunked.read();
      chunks = chunked.isComplete() ? null : chunked;
      return some;
    }
    if (received.isEmpty()) {
      received.require(Part.BODY, 0);
    }
    byte[] some = received.take((int) Math.min(remaining, received.length()));
    remaining -= some.length;
    return some;
  }
}
