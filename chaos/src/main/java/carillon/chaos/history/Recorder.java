package carillon.chaos.history;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Writes a history during the run: one line per event, flushed at once, in one order for all
 * threads.
 */
public final class Recorder implements AutoCloseable {

  private final BufferedWriter out;
  private final InstantSource clock;
  private final long start = System.nanoTime();
  private long lastSeq;
  private long lastOp;

  public Recorder(Path file, InstantSource clock) throws IOException {
    this.out = Files.newBufferedWriter(file);
    this.clock = clock;
  }

  /** Records the start of an operation and returns its number, which its end must name. */
  public long invoke(String what, Fields fields) {
    synchronized (this) {
      long op = ++lastOp;
      write(op, Kind.INVOKE, what, fields);
      return op;
    }
  }

  public Event ok(long op, String what, Fields fields) {
    return write(op, Kind.OK, what, fields);
  }

  /** Records that the operation definitely did not happen. */
  public Event fail(long op, String what, Fields fields) {
    return write(op, Kind.FAIL, what, fields);
  }

  /** Records that the operation may have happened, or may still happen. */
  public Event info(long op, String what, Fields fields) {
    return write(op, Kind.INFO, what, fields);
  }

  /** The current time, by the clock of the events. */
  public Instant now() {
    return clock.instant();
  }

  public Event event(String what, Fields fields) {
    return write(null, Kind.EVENT, what, fields);
  }

  private synchronized Event write(@Nullable Long op, Kind kind, String what, Fields fields) {
    Event event =
        new Event(
            ++lastSeq,
            System.nanoTime() - start,
            ChronoUnit.MICROS.between(Instant.EPOCH, clock.instant()),
            op,
            kind,
            what,
            fields);
    try {
      out.write(event.line());
      out.write('\n');
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return event;
  }

  @Override
  public synchronized void close() throws IOException {
    out.close();
  }
}
