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

/** The body of a request: read once, never past its limit, never for ever. */
public final class RequestBody {

  public static final String JSON = "application/json";
  public static final String NDJSON = "application/x-ndjson";

  /** How much is read at once: little of who sends little, and most of who sends much. */
  private static final int FIRST_BYTES = 1 << 10;

  private static final int FIRST_CHUNK = 8 << 10;
  private static final int CHUNK = 64 << 10;

  private final Function<Duration, InputStream> stream;
  private final Head head;
  private final @Nullable MessageDigest digest;
  private byte @Nullable [] hash;
  private BodyMemory.@Nullable Share share;

  /**
   * What the headers say about the body.
   *
   * @param length -1 if not known in advance
   * @param repeatable whether repeats of it must be told from other bodies
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

  /** Says whose memory it is read into; nothing can be read before. */
  void chargeTo(BodyMemory.Share share) {
    this.share = share;
  }

  /** What the request holds. */
  public BodyMemory.Share share() {
    return Objects.requireNonNull(share, "nobody was found to charge the body to");
  }

  public boolean isPresent() {
    return head.present();
  }

  /** The media type, which must be one of these. */
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

  /** The object that the body is, of at most this many bytes. */
  JsonValue.Members object(int maxBytes, Duration atMost) {
    if (!head.present()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; an object was expected");
    }
    mediaType(JSON);
    BodyMemory.Held held = share().held();
    try (InputStream in = open(maxBytes, atMost)) {
      // One byte more than there should be, so that the end is seen.
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

  private static byte[] grown(BodyMemory.Held held, byte[] bytes, int most) {
    int size = Math.min(2 * bytes.length, most);
    held.need((long) bytes.length + size); // both, while one is copied into the other
    byte[] grown = Arrays.copyOf(bytes, size);
    held.shrinkTo(size);
    return grown;
  }

  /**
   * Hands over the items of the one array in {@code {"name": [...]}} as they arrive.
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

  /** Hands over line after line of NDJSON; blank ones too, so that lines can be counted. */
  public void lines(int maxBytes, int maxLine, Duration atMost, LineReader each) {
    lines(maxBytes, maxLine, atMost, share().held(), each);
  }

  /**
   * The same with memory of another kind.
   *
   * @param held covers the longest line
   */
  public void lines(
      int maxBytes, int maxLine, Duration atMost, BodyMemory.Held held, LineReader each) {
    try (InputStream in = open(maxBytes, atMost)) {
      byte[] bytes = buffer(held, FIRST_CHUNK);
      int size = 0; // of a line that has begun
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
    return new ApiException(ErrorCode.BAD_REQUEST, "the body cannot be read to its end").closing();
  }

  /** Takes the lines of a body, whose bytes are valid until it returns. */
  public interface LineReader {
    void read(byte[] bytes, int from, int length);
  }

  /** SHA-256 of what was read; only of what may be repeated, because it costs time. */
  byte[] hash() {
    if (hash == null) {
      hash = Objects.requireNonNull(digest, "this body is not hashed").digest();
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
    return new ApiException(ErrorCode.BODY_TOO_LARGE, "the body may have " + maxBytes + " bytes")
        .closing();
  }

  private static ApiException tooSlow() {
    return new ApiException(ErrorCode.REQUEST_TIMEOUT, "the body did not arrive in time").closing();
  }

  /** Counts, times and hashes what passes through. */
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
      turn.end(); // while the client is waited for
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
        throw tooSlow(); // or gone: then nobody reads the answer
      } catch (RuntimeException e) {
        throw new IOException(e); // whatever the server's parser threw at a chunk that is none
      }
    }

    /**
     * Leaves the server's stream open: closing it would wait for the rest of a body that is not
     * wanted.
     */
    @Override
    public void close() {
      turn.end();
    }
  }
}
