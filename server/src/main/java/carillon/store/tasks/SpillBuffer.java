package carillon.store.tasks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records of bytes in the order in which they were added: in memory as far as {@link Room} allows,
 * the rest in a temporary file in one of its directories. The file has mode 0600 and no name from
 * the moment it is open, so that nothing is left behind however the process ends.
 */
public final class SpillBuffer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SpillBuffer.class);

  private static final int SEGMENT = 64 << 10;
  private static final int FIRST_SEGMENT = 8 << 10;

  private static final int FIRST_RECORDS = 64;

  private final Room room;
  private final List<Segment> segments = new ArrayList<>();

  private byte[] filling = new byte[0];
  private int filled;

  /** The segment in the upper half, the offset in it in the lower. */
  private long[] places = new long[0];

  private int size;

  private @Nullable FileChannel file;
  private long fileEnd;
  private boolean cannotSpill;

  /** How much memory and disk a buffer may use. */
  public interface Room {

    /** Whether this many more bytes may be kept in memory; if not, they go to the file. */
    boolean mayHold(int bytes);

    /** Takes this many more bytes of memory, or throws. */
    void mustHold(int bytes);

    /** Takes this many more bytes of the file system, or throws. */
    void mustSpill(int bytes);

    /** Where the file may be; the first in which one can be created is used. */
    List<Path> directories();

    /** Room without a bound, for callers that know that their records are few. */
    static Room unbounded() {
      return new Room() {
        @Override
        public boolean mayHold(int bytes) {
          return true;
        }

        @Override
        public void mustHold(int bytes) {}

        @Override
        public void mustSpill(int bytes) {}

        @Override
        public List<Path> directories() {
          return List.of();
        }
      };
    }
  }

  /** A run of records. Not a record itself: it has an array, and no use for equality. */
  private static final class Segment {
    private final byte @Nullable [] bytes; // null if they are in the file
    private final int length;
    private final long inFile;

    Segment(byte @Nullable [] bytes, int length, long inFile) {
      this.bytes = bytes;
      this.length = length;
      this.inFile = inFile;
    }
  }

  public SpillBuffer(Room room) {
    this.room = room;
  }

  public int size() {
    return size;
  }

  /** The length of one record: up to the next one, or to the end of its segment. */
  public int length(int index) {
    int segment = segment(index);
    if (index + 1 < size && segment(index + 1) == segment) {
      return offset(index + 1) - offset(index);
    }
    int end = segment == segments.size() ? filled : segments.get(segment).length;
    return end - offset(index);
  }

  private int segment(int index) {
    return (int) (places[index] >>> Integer.SIZE);
  }

  private int offset(int index) {
    return (int) places[index];
  }

  /** Adds a copy of these bytes. */
  public void add(byte[] bytes, int from, int length) {
    if (size == places.length) {
      growIndex();
    }
    if (length > SEGMENT) {
      endSegment();
      places[size] = (long) segments.size() << Integer.SIZE;
      addAlone(bytes, from, length);
    } else {
      makeRoom(length);
      places[size] = ((long) segments.size() << Integer.SIZE) | filled;
      System.arraycopy(bytes, from, filling, filled, length);
      filled += length;
    }
    size++;
  }

  private void growIndex() {
    int more = Math.max(FIRST_RECORDS, size);
    room.mustHold(more * Long.BYTES);
    places = Arrays.copyOf(places, size + more);
  }

  private void makeRoom(int length) {
    if (filled + length <= filling.length) {
      return;
    }
    if (filled + length <= SEGMENT) {
      int enough = Math.max(FIRST_SEGMENT, Math.max(2 * filling.length, filled + length));
      int grown = Math.min(SEGMENT, enough);
      room.mustHold(grown - filling.length);
      filling = Arrays.copyOf(filling, grown);
      return;
    }
    endSegment();
    makeRoom(length);
  }

  /** A record as large as several segments is one of its own. */
  private void addAlone(byte[] bytes, int from, int length) {
    if (room.mayHold(length)) {
      segments.add(new Segment(Arrays.copyOfRange(bytes, from, from + length), length, 0));
    } else if (!spill(bytes, from, length)) {
      room.mustHold(length);
      segments.add(new Segment(Arrays.copyOfRange(bytes, from, from + length), length, 0));
    }
  }

  private void endSegment() {
    if (filled == 0) {
      return;
    }
    if (room.mayHold(SEGMENT)) { // for the next one: this one stays
      segments.add(new Segment(filling, filled, 0));
      filling = new byte[SEGMENT];
    } else if (!spill(filling, 0, filled)) {
      room.mustHold(SEGMENT);
      segments.add(new Segment(filling, filled, 0));
      filling = new byte[SEGMENT];
    }
    filled = 0;
  }

  /** False if nothing can be written here; then memory has to do. */
  private boolean spill(byte[] bytes, int from, int length) {
    if (cannotSpill) {
      return false;
    }
    room.mustSpill(length);
    try {
      FileChannel out = file();
      ByteBuffer rest = ByteBuffer.wrap(bytes, from, length);
      long at = fileEnd;
      while (rest.hasRemaining()) {
        at += out.write(rest, at);
      }
      segments.add(new Segment(null, length, fileEnd));
      fileEnd = at;
      return true;
    } catch (IOException e) {
      cannotSpill = true;
      log.warn(
          "cannot write a temporary file directories={} error={}",
          room.directories(),
          e.toString());
      return false;
    }
  }

  private FileChannel file() throws IOException {
    if (file == null) {
      Path path = newFile();
      file =
          FileChannel.open(
              path,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE,
              StandardOpenOption.DELETE_ON_CLOSE);
      Files.deleteIfExists(path);
    }
    return file;
  }

  private Path newFile() throws IOException {
    IOException failed = new IOException("there is no directory for it");
    for (Path directory : room.directories()) {
      try {
        return Files.createTempFile(directory, "carillon-", ".spill"); // mode 0600 by itself
      } catch (IOException e) {
        e.addSuppressed(failed);
        failed = e;
      }
    }
    throw failed;
  }

  /** Reads records; several readers may read at once, after the last record was added. */
  public Reader reader() {
    return new Reader();
  }

  /** Stands at one record at a time; its bytes are valid until it moves on. */
  public final class Reader {

    private byte[] bytes = new byte[0];
    private int from;
    private int length;

    private byte[] loaded = new byte[0];
    private int loadedSegment = -1;
    private int lastIndex = -1;

    private Reader() {}

    /** Goes to this record. In order is cheapest. */
    public void moveTo(int index) {
      int segment = segment(index);
      int offset = offset(index);
      boolean isInOrder = index == lastIndex + 1;
      lastIndex = index;
      length = SpillBuffer.this.length(index);
      from = offset;
      if (segment == segments.size()) {
        bytes = filling;
        return;
      }
      Segment lies = segments.get(segment);
      if (lies.bytes != null) {
        bytes = lies.bytes;
      } else if (segment == loadedSegment) {
        bytes = loaded;
      } else if (isInOrder) {
        load(lies.inFile, lies.length);
        loadedSegment = segment;
      } else { // likely the only one that is wanted of its segment
        load(lies.inFile + offset, length);
        loadedSegment = -1;
        from = 0;
      }
    }

    private void load(long at, int many) {
      if (loaded.length < many) {
        loaded = new byte[many];
      }
      bytes = loaded;
      try {
        FileChannel in = file();
        ByteBuffer rest = ByteBuffer.wrap(loaded, 0, many);
        for (long position = at; rest.hasRemaining(); ) {
          int read = in.read(rest, position);
          if (read < 0) {
            throw new IOException("the temporary file ends too early");
          }
          position += read;
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    public byte[] bytes() {
      return bytes;
    }

    public int from() {
      return from;
    }

    public int length() {
      return length;
    }
  }

  /** Frees the disk; the memory goes with the buffer. */
  @Override
  public void close() {
    if (file != null) {
      try {
        file.close();
      } catch (IOException e) {
        log.debug("a temporary file was closed with an error", e);
      }
    }
  }
}
