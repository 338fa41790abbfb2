package carillon.delivery.http;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.ConnectionClosedException;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.MessageConstraintException;
import org.apache.hc.core5.http.config.Http1Config;
import org.apache.hc.core5.http.impl.io.DefaultHttpResponseParser;
import org.apache.hc.core5.http.io.HttpMessageParser;
import org.apache.hc.core5.http.io.SessionInputBuffer;
import org.jspecify.annotations.Nullable;

/** Parses the head of a response; rejects a head that is too large or truncated. */
final class HeadParser implements HttpMessageParser<ClassicHttpResponse> {

  static final int MAX_HEAD_BYTES = 64 * 1024;

  static final Http1Config LIMITS =
      Http1Config.custom().setMaxLineLength(8 * 1024).setMaxHeaderCount(200).build();

  private final DefaultHttpResponseParser parser = new DefaultHttpResponseParser(LIMITS);
  private @Nullable SessionInputBuffer buffer;

  @Override
  public ClassicHttpResponse parse(SessionInputBuffer buffer, InputStream in)
      throws IOException, HttpException {
    this.buffer = buffer;
    return parser.parse(buffer, new HeadStream(in, MAX_HEAD_BYTES - buffer.length()));
  }

  /** Whether the target sent more than one response. */
  boolean hasLeftovers() {
    return buffer != null && buffer.length() > 0;
  }

  private static final class HeadStream extends FilterInputStream {

    private int left;

    HeadStream(InputStream in, int left) {
      super(in);
      this.left = left;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      if (left <= 0) {
        throw new MessageConstraintException("the head is larger than " + MAX_HEAD_BYTES);
      }
      int read = super.read(bytes, offset, Math.min(length, left));
      if (read < 0) {
        // The parser would treat the end of the stream as the end of the headers.
        throw new ConnectionClosedException("the head is truncated");
      }
      left -= read;
      return read;
    }
  }
}
