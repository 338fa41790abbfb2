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
 * A list of byte records. Keeps them in memory while {@link Budget} grants it, then writes them to
 * a temporary file in one of its directories. The file has mode 0600 and is unlinked as soon as it
 * is open, so that a crash leaves nothing behind.
 */
public final class SpillBuffer implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SpillBuffer.class);

  private static final int SEGMENT = 64 << 10;
  private static final int FIRST_SEGMENT = 8 << 10;

  private static final int FIRST_RECORDS = 64;

  private final Budget budget;
  private final List<Segment> segments = new ArrayList<>();

  private byte[] filling = new byte[0];
  private int filled;

  /**
   * For each record the index of its segment in the upper 32 bits, and its offset in the lower 32.
   */
  private long[] positions = new long[0];

  private int size;

  private @Nullable FileChannel file;
  private long fileEnd;
  private boolean cannotSpill;

  /** How much memory and disk a buffer may use. */
  public interface Budget {

    /** Reserves this much memory; returns false if the bytes have to go to the file. */
    boolean tryReserveMemory(int bytes);

    /** Reserves this much memory, or throws. */
    void reserveMemory(int bytes);

    /** Reserves this much disk space, or throws. */
    void reserveDisk(int bytes);

    /** The directories for the file; the first one that is writable is used. */
    List<Path> directories();

    /** A budget without a bound, for callers with few records. */
    static Budget unbounded() {
      return new Budget() {
        @Override
        public boolean tryReserveMemory(int bytes) {
          return true;
        }

        @Override
        public void reserveMemory(int bytes) {}

        @Override
        public void reserveDisk(int bytes) {}

        @Override
        public List<Path> directories() {
          return List.of();
        }
      };
    }
  }

  /** A run of records. Not a Java record: it has an array, and no use for equality. */
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

  public SpillBuffer(Budget budget) {
    this.budget = budget;
  }

  public int size() {
    return size;
  }

  /** The length of one record. It ends at the next one, or at the end of its segment. */
  public int length(int index) {
    int segment = segment(index);
    if (index + 1 < size && segment(index + 1) == segment) {
      return offset(index + 1) - offset(index);
    }
    int end = segment == segments.size() ? filled : segments.get(segment).length;
    return end - offset(index);
  }

  private int segment(int index) {
    return (int) (positions[index] >>> Integer.SIZE);
  }

  private int offset(int index) {
    return (int) positions[index];
  }

  /** Adds a copy of these bytes. */
  public void add(byte[] bytes, int from, int length) {
    if (size == positions.length) {
      growIndex();
    }
    if (length > SEGMENT) {
      endSegment();
      positions[size] = (long) segments.size() << Integer.SIZE;
      addAlone(bytes, from, length);
    } else {
      makeRoom(length);
      positions[size] = ((long) segments.size() << Integer.SIZE) | filled;
      System.arraycopy(bytes, from, filling, filled, length);
      filled += length;
    }
    size++;
  }

  private void growIndex() {
    int more = Math.max(FIRST_RECORDS, size);
    budget.reserveMemory(more * Long.BYTES);
    positions = Arrays.copyOf(positions, size + more);
  }

  private void makeRoom(int length) {
    if (filled + length <= filling.length) {
      return;
    }
    if (filled + length <= SEGMENT) {
      int enough = Math.max(FIRST_SEGMENT, Math.max(2 * filling.length, filled + length));
      int grown = Math.min(SEGMENT, enough);
      budget.reserveMemory(grown - filling.length);
      filling = Arrays.copyOf(filling, grown);
      return;
    }
    endSegment();
    makeRoom(length);
  }

  /** A record larger than a segment gets its own segment. */
  private void addAlone(byte[] bytes, int from, int length) {
    if (budget.tryReserveMemory(length)) {
      segments.add(new Segment(Arrays.copyOfRange(bytes, from, from + length), length, 0));
    } else if (!spill(bytes, from, length)) {
      budget.reserveMemory(length);
      segments.add(new Segment(Arrays.copyOfRange(bytes, from, from + length), length, 0));
    }
  }

  private void endSegment() {
    if (filled == 0) {
      return;
    }
    if (budget.tryReserveMemory(SEGMENT)) { // for the next segment; this one stays in memory
      segments.add(new Segment(filling, filled, 0));
      filling = new byte[SEGMENT];
    } else if (!spill(filling, 0, filled)) {
      budget.reserveMemory(SEGMENT);
      segments.add(new Segment(filling, filled, 0));
      filling = new byte[SEGMENT];
    }
    filled = 0;
  }

  /** Returns false if the file cannot be written; the bytes must then stay in memory. */
  private boolean spill(byte[] bytes, int from, int length) {
    if (cannotSpill) {
      return false;
    }
    budget.reserveDisk(length);
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
          budget.directories(),
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
    IOException failed = new IOException("no directory is configured");
    for (Path directory : budget.directories()) {
      try {
        return Files.createTempFile(directory, "carillon-", ".spill"); // creates it with mode 0600
      } catch (IOException e) {
        e.addSuppressed(failed);
        failed = e;
      }
    }
    throw failed;
  }

  /** A new reader. After the last record was added, several may be used concurrently. */
  public Reader reader() {
    return new Reader();
  }

  /** Reads one record at a time; its bytes are valid until the next {@link #moveTo}. */
  public final class Reader {

    private byte[] bytes = new byte[0];
    private int from;
    private int length;

    private byte[] loaded = new byte[0];
    private int loadedSegment = -1;
    private int lastIndex = -1;

    private Reader() {}

    /** Reads this record. Reading in order is fastest. */
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
      Segment source = segments.get(segment);
      if (source.bytes != null) {
        bytes = source.bytes;
      } else if (segment == loadedSegment) {
        bytes = loaded;
      } else if (isInOrder) {
        load(source.inFile, source.length);
        loadedSegment = segment;
      } else { // probably the only record read from its segment
        load(source.inFile + offset, length);
        loadedSegment = -1;
        from = 0;
      }
    }

    private void load(long at, int count) {
      if (loaded.length < count) {
        loaded = new byte[count];
      }
      bytes = loaded;
      try {
        FileChannel in = file();
        ByteBuffer rest = ByteBuffer.wrap(loaded, 0, count);
        for (long position = at; rest.hasRemaining(); ) {
          int read = in.read(rest, position);
          if (read < 0) {
            throw new IOException("the temporary file is shorter than expected");
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

  /** Frees the disk space; the memory is garbage collected with the buffer. */
  @Override
  public void close() {
    if (file != null) {
      try {
        file.close();
      } catch (IOException e) {
        log.debug("cannot close a temporary file", e);
      }
    }
  }
}
