package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.json.BodyMemory;
import carillon.api.json.JsonText;
import carillon.api.json.JsonValue;
import carillon.api.json.ParsingTurn;
import carillon.model.KeyText;
import io.helidon.webserver.CloseConnectionException;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The body of a request: read once, with a limit on its size and its time. */
public final class RequestBody {

  public static final String JSON = "application/json";
  public static final String NDJSON = "application/x-ndjson";

  /** The first buffer of a body whose length is not known; buffers grow with the body. */
  private static final int FIRST_BYTES = 1 << 10;

  private static final int FIRST_CHUNK = 8 << 10;
  private static final int CHUNK = 64 << 10;

  private final Function<Duration, InputStream> stream;
  private final Head head;
  private final @Nullable MessageDigest digest;
  private byte @Nullable [] hash;
  private BodyMemory.@Nullable Share share;

  /**
   * The headers that describe the body.
   *
   * @param length -1 if not known in advance
   * @param repeatable whether the request has an Idempotency-Key, so that its body is hashed
   */
  record Head(
      boolean present,
      long length,
      boolean repeatable,
      @Nullable String contentType,
      @Nullable String contentEncoding) {}

  RequestBody(Head head, Function<Duration, InputStream> stream) {
    this.head = head;
    this.stream = stream;
    this.digest = head.repeatable() ? KeyText.sha256() : null;
  }

  /** Sets the memory that it is read into; must be called before anything is read. */
  void chargeTo(BodyMemory.Share share) {
    this.share = share;
  }

  /** The memory that the request holds. */
  public BodyMemory.Share share() {
    return Objects.requireNonNull(share, "the body has no memory share yet");
  }

  public boolean isPresent() {
    return head.present();
  }

  /** Requires one of the accepted media types and returns it. */
  public String mediaType(String... accepted) {
    if (head.contentEncoding() != null && !head.contentEncoding().equalsIgnoreCase("identity")) {
      throw new ApiException(
              ErrorCode.ENCODING_NOT_SUPPORTED, "send the body without Content-Encoding")
          .closing();
    }
    String[] parts =
        head.contentType() == null ? new String[] {""} : head.contentType().split(";", -1);
    String type = parts[0].strip().toLowerCase(Locale.ROOT);
    boolean utf8 = true;
    for (int i = 1; i < parts.length; i++) {
      String parameter = parts[i].strip().toLowerCase(Locale.ROOT).replace("\"", "");
      utf8 &= !parameter.startsWith("charset=") || parameter.equals("charset=utf-8");
    }
    for (String each : accepted) {
      if (each.equals(type) && utf8) {
        return each;
      }
    }
    throw new ApiException(
        ErrorCode.UNSUPPORTED_MEDIA_TYPE,
        "Content-Type must be " + String.join(" or ", accepted) + " in UTF-8");
  }

  /** Reads the body as a JSON object. */
  JsonValue.Members object(int maxBytes, Duration atMost) {
    if (!head.present()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; send a JSON object");
    }
    mediaType(JSON);
    BodyMemory.Held held = share().held();
    try (InputStream in = open(maxBytes, atMost)) {
      // One byte more than the body has, so that its end is seen.
      byte[] bytes = buffer(held, Math.min(CHUNK, head.length() < 0 ? FIRST_BYTES : length() + 1));
      int size = 0;
      for (int read = in.read(bytes); read >= 0; read = in.read(bytes, size, bytes.length - size)) {
        size += read;
        if (size == bytes.length) {
          bytes = grown(held, bytes, maxBytes + 1);
        }
      }
      return JsonText.object(bytes, size, held);
    } catch (IOException e) {
      throw unreadable();
    }
  }

  private int length() {
    return Math.toIntExact(head.length());
  }

  private static byte[] buffer(BodyMemory.Held held, int size) {
    held.need(size);
    return new byte[size];
  }

  private static byte[] grown(BodyMemory.Held held, byte[] bytes, int max) {
    int size = Math.min(2 * bytes.length, max);
    held.need((long) bytes.length + size); // both arrays, while one is copied into the other
    byte[] grown = Arrays.copyOf(bytes, size);
    held.shrinkTo(size);
    return grown;
  }

  /**
   * Passes on the items of the array in {@code {"name": [...]}} as they arrive.
   *
   * @param maxItem bytes that an item may have
   */
  public void items(
      int maxBytes, String name, int maxItem, Duration atMost, Consumer<JsonValue> each) {
    try (InputStream in = open(maxBytes, atMost)) {
      JsonText.items(in, name, maxItem, share(), each);
    } catch (IOException e) {
      throw unreadable();
    }
  }

  /**
   * Passes on the lines of NDJSON as they arrive; also blank ones, so that lines can be counted.
   */
  public void lines(int maxBytes, int maxLine, Duration atMost, LineReader each) {
    lines(maxBytes, maxLine, atMost, share().held(), each);
  }

  /**
   * Passes on the lines of NDJSON, whose memory the caller provides.
   *
   * @param held covers the longest line
   */
  public void lines(
      int maxBytes, int maxLine, Duration atMost, BodyMemory.Held held, LineReader each) {
    try (InputStream in = open(maxBytes, atMost)) {
      byte[] bytes = buffer(held, FIRST_CHUNK);
      int size = 0; // of the incomplete line at the start of the buffer
      for (int read = in.read(bytes); read >= 0; read = in.read(bytes, size, bytes.length - size)) {
        int start = 0;
        int end = size + read;
        for (int i = size; i < end; i++) {
          if (bytes[i] == '\n') {
            refuseLong(i - start, maxLine);
            each.read(bytes, start, i - start);
            start = i + 1;
          }
        }
        size = end - start;
        refuseLong(size, maxLine);
        System.arraycopy(bytes, start, bytes, 0, size);
        if (size == bytes.length || (bytes.length < CHUNK && end == bytes.length)) {
          bytes = grown(held, bytes, Math.max(CHUNK, maxLine + 1));
        }
      }
      each.read(bytes, 0, size);
    } catch (IOException e) {
      throw unreadable();
    }
  }

  private static void refuseLong(int length, int maxLine) {
    if (length > maxLine) {
      throw new ApiException(ErrorCode.BODY_TOO_LARGE, "a line has more than " + maxLine + " bytes")
          .closing();
    }
  }

  private static ApiException unreadable() {
    return new ApiException(
            ErrorCode.BAD_REQUEST, "the connection ended before the end of the body")
        .closing();
  }

  /** Reads one line, whose bytes are valid until it returns. */
  public interface LineReader {
    void read(byte[] bytes, int from, int length);
  }

  /** The SHA-256 of the body; only for a request with an Idempotency-Key, because it costs time. */
  byte[] hash() {
    if (hash == null) {
      hash = Objects.requireNonNull(digest, "the request has no Idempotency-Key").digest();
    }
    return hash.clone();
  }

  private InputStream open(int maxBytes, Duration atMost) {
    if (head.length() > maxBytes) {
      throw tooLarge(maxBytes);
    }
    return new Bounded(stream.apply(atMost), maxBytes, System.nanoTime() + atMost.toNanos());
  }

  private static ApiException tooLarge(int maxBytes) {
    return new ApiException(
            ErrorCode.BODY_TOO_LARGE, "the body has more than " + maxBytes + " bytes")
        .closing();
  }

  private static ApiException tooSlow() {
    return new ApiException(ErrorCode.REQUEST_TIMEOUT, "the body did not arrive in time").closing();
  }

  /** Counts, times and hashes the bytes that pass through. */
  private final class Bounded extends InputStream {

    private final InputStream in;
    private final int maxBytes;
    private final long deadline;
    private long count;
    private final ParsingTurn turn = new ParsingTurn();

    Bounded(InputStream in, int maxBytes, long deadline) {
      this.in = in;
      this.maxBytes = maxBytes;
      this.deadline = deadline;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      turn.end(); // while waiting for the client
      int read = readWire(buffer, offset, length);
      if (read > 0) {
        count += read;
        if (count > maxBytes) {
          throw tooLarge(maxBytes);
        }
        if (digest != null) {
          digest.update(buffer, offset, read);
        }
      }
      if (System.nanoTime() - deadline > 0) {
        throw tooSlow();
      }
      if (read > 0) {
        turn.next(count);
      }
      return read;
    }

    private int readWire(byte[] buffer, int offset, int length) throws IOException {
      try {
        return in.read(buffer, offset, length);
      } catch (CloseConnectionException e) {
        throw tooSlow(); // or the client is gone, and the response has no reader
      } catch (RuntimeException e) {
        throw new IOException(e); // from the server's parser, for an invalid chunk
      }
    }

    /**
     * Leaves the server's stream open: closing it would wait for the rest of a body that is not
     * needed.
     */
    @Override
    public void close() {
      turn.end();
    }
  }
}
