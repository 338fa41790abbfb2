package carillon.store.db;

import carillon.model.Partition;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.copy.CopyIn;

/**
 * Rows on their way into a table by {@code COPY ... FROM STDIN (FORMAT binary)}: the cheapest way
 * in that PostgreSQL has. The columns of a row are added in the order in which the statement names
 * them.
 */
public final class CopiedRows {

  private static final byte[] HEADER = {
    'P', 'G', 'C', 'O', 'P', 'Y', '\n', (byte) 0xff, '\r', '\n', 0, 0, 0, 0, 0, 0, 0, 0, 0
  };
  private static final int CHUNK = 64 << 10;

  private final CopyIn copy;
  private ByteBuffer chunk = ByteBuffer.allocate(2 * CHUNK).put(HEADER);

  CopiedRows(CopyIn copy) {
    this.copy = copy;
  }

  /** Begins the next row. */
  public CopiedRows row(int columns) throws SQLException {
    if (chunk.position() >= CHUNK) {
      send();
    }
    room(Short.BYTES).putShort((short) columns);
    return this;
  }

  public CopiedRows add(int value) {
    room(2 * Integer.BYTES).putInt(Integer.BYTES).putInt(value);
    return this;
  }

  public CopiedRows add(UUID id) {
    Binary.put(room(Integer.BYTES + Binary.UUID_BYTES).putInt(Binary.UUID_BYTES), id);
    return this;
  }

  public CopiedRows add(Partition partition) {
    return add(Binary.days(partition.day()));
  }

  public CopiedRows add(@Nullable Instant time) {
    if (time == null) {
      return addNull();
    }
    room(Integer.BYTES + Long.BYTES).putInt(Long.BYTES).putLong(Binary.micros(time));
    return this;
  }

  public CopiedRows add(@Nullable String text) {
    if (text == null) {
      return addNull();
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    room(Integer.BYTES + bytes.length).putInt(bytes.length).put(bytes);
    return this;
  }

  /** For a column of type jsonb, whose binary form begins with its version. */
  public CopiedRows addJson(@Nullable String json) {
    if (json == null) {
      return addNull();
    }
    byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
    room(Integer.BYTES + 1 + bytes.length).putInt(1 + bytes.length).put((byte) 1).put(bytes);
    return this;
  }

  /** Columns that are already in this format. */
  public CopiedRows addEncoded(ByteBuffer columns) {
    room(columns.remaining()).put(columns);
    return this;
  }

  private CopiedRows addNull() {
    room(Integer.BYTES).putInt(Binary.NULL);
    return this;
  }

  private ByteBuffer room(int bytes) {
    if (chunk.remaining() < bytes) {
      chunk = ByteBuffer.allocate(chunk.position() + bytes + CHUNK).put(chunk.flip());
    }
    return chunk;
  }

  @SuppressWarnings("ThreadPriorityCheck") // a virtual thread holds its core until it waits
  private void send() throws SQLException {
    copy.writeToCopy(chunk.array(), 0, chunk.position());
    chunk.clear();
    Thread.yield();
  }

  /** The number of rows. */
  long end() throws SQLException {
    room(Short.BYTES).putShort((short) -1);
    send();
    return copy.endCopy();
  }
}
