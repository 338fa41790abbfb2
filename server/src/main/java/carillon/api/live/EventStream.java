package carillon.api.live;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Caller;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.stats.Events;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client that watches: what it wants to see, and what it has not read yet. Who does not read is
 * let go of.
 */
final class EventStream implements Answer.Live {

  /** Messages that may wait for a client. */
  static final int MOST_WAITING = 256;

  private static final byte[] START = "retry: 2000\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = {};
  private static final Duration BREATH = Duration.ofSeconds(10);

  private final Caller caller;
  private final Supplier<Caller> callerNow;
  private final Filter filter;
  private final Consumer<EventStream> whenClosed;
  private final BlockingQueue<byte[]> waiting = new ArrayBlockingQueue<>(MOST_WAITING);
  private volatile boolean ended;
  private boolean hasStats; // of the broadcasting thread only

  /**
   * What of its tenant somebody wants to see.
   *
   * @param type of which tasks; null means of all
   * @param ids which tasks; none means all
   */
  record Filter(@Nullable String type, Set<TaskId> ids, boolean stats) {

    Filter {
      ids = Set.copyOf(ids);
    }
  }

  /**
   * @param callerNow who it is by now, if the credentials are still good
   */
  EventStream(
      Caller caller, Supplier<Caller> callerNow, Filter filter, Consumer<EventStream> whenClosed) {
    this.caller = caller;
    this.callerNow = callerNow;
    this.filter = filter;
    this.whenClosed = whenClosed;
  }

  TenantId tenant() {
    return caller.tenantId();
  }

  /** The types that it may see; none means all. */
  List<String> types() {
    return caller.types();
  }

  Viewer viewer() {
    return new Viewer(tenant(), types());
  }

  /** With which it was opened; empty for one that is no row. */
  Optional<String> keyId() {
    return caller.keyId();
  }

  boolean wantsStats() {
    return filter.stats();
  }

  boolean hasStats() {
    return hasStats;
  }

  void addStats(byte[] message) {
    hasStats = true;
    add(message);
  }

  boolean wants(Events.Change change) {
    return (filter.type() == null || filter.type().equals(change.type()))
        && (filter.ids().isEmpty() || filter.ids().contains(change.task()))
        && caller.mayTouch(change.type());
  }

  /** Ends it unless the caller may still see what it sees; false if nobody can say now. */
  boolean check() {
    try {
      Caller now = callerNow.get();
      if (!now.tenantId().equals(tenant()) || !now.types().equals(types())) {
        end();
      }
    } catch (ApiException e) {
      if (e.code() == ErrorCode.OVERLOADED) {
        return false;
      }
      end();
    }
    return true;
  }

  /** To be read next; never waits. */
  void add(byte[] message) {
    if (!ended && !waiting.offer(message)) {
      end();
    }
  }

  /** Writes something, because a place is wanted: who is gone is only found by writing. */
  void probe() {
    if (waiting.isEmpty()) { // else something is written anyway
      add(COMMENT);
    }
  }

  boolean isEnded() {
    return ended;
  }

  /** Nothing more is written but what is on its way. */
  void end() {
    ended = true;
    waiting.clear();
    boolean _ = waiting.offer(END);
  }

  @Override
  public void writeTo(OutputStream out) throws IOException, InterruptedException {
    writeTo(out, BREATH);
  }

  /**
   * @param breath after so long a silence a comment is written, whatever keeps the messages away:
   *     proxies cut off what is silent, and who is gone is only found by writing
   */
  void writeTo(OutputStream out, Duration breath) throws IOException, InterruptedException {
    out.write(START);
    out.flush();
    while (true) {
      byte[] next = waiting.poll(breath.toNanos(), TimeUnit.NANOSECONDS);
      if (ended) {
        return;
      }
      out.write(next == null ? COMMENT : next);
      if (waiting.isEmpty()) {
        out.flush();
      }
    }
  }

  @Override
  public void close() {
    end();
    whenClosed.accept(this);
  }
}
