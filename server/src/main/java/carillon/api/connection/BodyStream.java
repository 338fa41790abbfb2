package carillon.api.connection;

import io.helidon.http.RequestException;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.http.ServerRequest;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The body of a request as it arrives; knows whether it was read to its end. */
public final class BodyStream extends InputStream {

  private final ServerRequest request;
  private final ClientConnection connection;
  private @Nullable InputStream in;
  private @Nullable RequestException fault;
  private boolean atEnd;

  /**
   * @param isPresent whether there is a body at all
   */
  public BodyStream(ServerRequest request, ClientConnection connection, boolean isPresent) {
    this.request = request;
    this.connection = connection;
    this.atEnd = !isPresent;
  }

  /** Starts reading the body, which must be complete within this time. */
  public InputStream within(Duration atMost) {
    connection.bodyUntil(System.nanoTime() + atMost.toNanos());
    return this;
  }

  /** Whether the next byte on the connection belongs to the next request. */
  public boolean isAtEnd() {
    return atEnd;
  }

  /** The framing error that ended it; null if there was none. */
  public @Nullable RequestException fault() {
    return fault;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    try {
      if (in == null) {
        in = request.content().inputStream(); // this is what sends 100 Continue
      }
      int read = in.read(buffer, offset, length);
      atEnd |= read < 0;
      return read;
    } catch (RequestException e) {
      fault = e;
      throw new IOException(e);
    } catch (CloseConnectionException e) {
      if (connection.isCut()) {
        throw e;
      }
      throw new IOException(e);
    }
  }

  /** Leaves the server's stream open: closing it would wait for the rest of the body. */
  @Override
  public void close() {}
}
