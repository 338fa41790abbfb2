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
 * Reads an archive, compressed or not, line by line. Holds at most one line in memory and rejects
 * lines longer than a server accepts.
 */
final class ArchiveLines implements AutoCloseable {

  private static final int MAX_BYTES = 32 << 20;
  private static final int CHUNK = 64 << 10;

  private final InputStream in;
  private int number;

  /** A non-blank line. */
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

    /** The tenant of the task; null if it is missing or the line is not JSON. */
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

  /** Reads the rest, to verify its checksum. */
  void toEnd() throws IOException {
    in.transferTo(OutputStream.nullOutputStream());
  }

  /** The number of the last line read. */
  int number() {
    return number;
  }

  /** The next line; null at the end. */
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
        if (line.size() > MAX_BYTES) {
          throw new IOException("line " + (number + 1) + " has more than " + MAX_BYTES + " bytes");
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
