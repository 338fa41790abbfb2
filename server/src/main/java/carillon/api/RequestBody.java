package carillon.api;

import carillon.model.KeyText;
import io.helidon.webserver.CloseConnectionException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The body of a request: read once, never past its limit, never for ever. */
final class RequestBody {

  static final String JSON = "application/json";
  static final String NDJSON = "application/x-ndjson";

  private static final int CHUNK = 64 << 10;

  private final Function<Duration, InputStream> stream;
  private final Head head;
  private final @Nullable MessageDigest digest;
  private byte @Nullable [] hash;

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

  boolean isPresent() {
    return head.present();
  }

  /** In bytes; -1 if not known in advance. */
  long length() {
    return head.present() ? head.length() : 0;
  }

  /** The media type, which must be one of these. */
  String mediaType(String... accepted) {
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

  /** The whole body as JSON text of at most this many bytes. */
  String json(int maxBytes, Duration atMost) {
    if (!head.present()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; an object was expected");
    }
    mediaType(JSON);
    return JsonText.decode(bytes(maxBytes, atMost));
  }

  private byte[] bytes(int maxBytes, Duration atMost) {
    try (InputStream in = open(maxBytes, atMost)) {
      // One byte more than there should be, so that the end is seen.
      return in.readNBytes((head.length() < 0 ? maxBytes : (int) head.length()) + 1);
    } catch (IOException e) {
      throw new ApiException(ErrorCode.BAD_REQUEST, "the body cannot be read to its end").closing();
    }
  }

  /** Hands over line after line of NDJSON; blank ones too, so that lines can be counted. */
  void lines(int maxBytes, int maxLine, Duration atMost, LineReader each) {
    try (InputStream in = open(maxBytes, atMost)) {
      ByteArrayOutputStream begun = new ByteArrayOutputStream();
      byte[] chunk = new byte[CHUNK];
      for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
        int start = 0;
        for (int i = 0; i < read; i++) {
          if (chunk[i] != '\n') {
            continue;
          }
          if (begun.size() == 0) {
            each.read(JsonText.decode(chunk, start, i - start));
          } else {
            begun.write(chunk, start, i - start);
            each.read(JsonText.decode(begun.toByteArray()));
            begun.reset();
          }
          start = i + 1;
        }
        begun.write(chunk, start, read - start);
        if (begun.size() > maxLine) {
          throw new ApiException(
                  ErrorCode.BODY_TOO_LARGE, "a line has more than " + maxLine + " bytes")
              .closing();
        }
      }
      each.read(JsonText.decode(begun.toByteArray()));
    } catch (IOException e) {
      throw new ApiException(ErrorCode.BAD_REQUEST, "the body cannot be read to its end").closing();
    }
  }

  /** Takes the lines of a body. */
  interface LineReader {
    void read(String line);
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
    public void close() {}
  }
}
