package carillon.cli.deadletters;

import carillon.cli.ApiCommand;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * The lines of an archive one by one, compressed or not. No more of it than one line is ever in
 * memory, and no line is longer than a server would take.
 */
final class ArchiveLines implements AutoCloseable {

  private static final int MOST_BYTES = 32 << 20;
  private static final int CHUNK = 64 << 10;

  private final InputStream in;
  private int number;

  /** A line that is not blank. */
  static final class Line {
    private final int number;
    private final byte[] bytes;

    private Line(int number, byte[] bytes) {
      this.number = number;
      this.bytes = bytes;
    }

    int number() {
      return number;
    }

    void writeTo(ByteArrayOutputStream out) {
      out.writeBytes(bytes);
    }

    /** Whose task it is; null if it does not say so, or is not JSON up to there. */
    @Nullable String tenant() {
      try (JsonParser parser = ApiCommand.JSON.createParser(bytes)) {
        if (parser.nextToken() != JsonToken.START_OBJECT) {
          return null;
        }
        while (parser.nextToken() == JsonToken.PROPERTY_NAME) {
          boolean isTenant = "tenant".equals(parser.currentName());
          JsonToken value = parser.nextToken();
          if (isTenant) {
            return value == JsonToken.VALUE_STRING ? parser.getString() : null;
          }
          parser.skipChildren();
        }
        return null;
      } catch (JacksonException e) {
        return null;
      }
    }
  }

  private ArchiveLines(InputStream in) {
    this.in = in;
  }

  static ArchiveLines of(InputStream given) throws IOException {
    BufferedInputStream in = new BufferedInputStream(given, CHUNK);
    in.mark(2);
    boolean isZipped = in.read() == 0x1f && in.read() == 0x8b;
    in.reset();
    return new ArchiveLines(
        isZipped ? new BufferedInputStream(new GZIPInputStream(in, CHUNK), CHUNK) : in);
  }

  /** Reads all that is left, for its checksum only. */
  void toEnd() throws IOException {
    in.transferTo(OutputStream.nullOutputStream());
  }

  /** The number of the last line that was read. */
  int number() {
    return number;
  }

  /** The next one; null at the end. */
  @Nullable Line next() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    boolean isBlank = true;
    while (true) {
      int read = in.read();
      if (read == '\n' || read < 0) {
        number += read < 0 && line.size() == 0 ? 0 : 1;
        if (!isBlank) {
          return new Line(number, line.toByteArray());
        }
        if (read < 0) {
          return null;
        }
        line.reset();
      } else {
        isBlank &= read <= ' ';
        line.write(read);
        if (line.size() > MOST_BYTES) {
          throw new IOException("line " + (number + 1) + " has more than " + MOST_BYTES + " bytes");
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
