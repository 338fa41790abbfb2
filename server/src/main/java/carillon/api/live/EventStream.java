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
 * One client of the event stream: its filter and the messages it has not read yet. A client that
 * does not read is disconnected.
 */
final class EventStream implements Answer.Live {

  /** Messages that a client has not read yet. */
  static final int MAX_WAITING = 256;

  private static final byte[] START = "retry: 2000\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] COMMENT = ":\n\n".getBytes(StandardCharsets.US_ASCII);
  private static final byte[] END = {};
  private static final Duration KEEP_ALIVE_INTERVAL = Duration.ofSeconds(10);

  private final Caller caller;
  private final Supplier<Caller> callerNow;
  private final Filter filter;
  private final Consumer<EventStream> onClose;
  private final BlockingQueue<byte[]> waiting = new ArrayBlockingQueue<>(MAX_WAITING);
  private volatile boolean ended;
  private boolean hasStats; // used by the broadcast thread only

  /**
   * The events that a client wants.
   *
   * @param type of the tasks; null means all
   * @param ids of the tasks; empty means all
   */
  record Filter(@Nullable String type, Set<TaskId> ids, boolean stats) {

    Filter {
      ids = Set.copyOf(ids);
    }
  }

  /**
   * @param callerNow authenticates the caller again
   */
  EventStream(
      Caller caller, Supplier<Caller> callerNow, Filter filter, Consumer<EventStream> onClose) {
    this.caller = caller;
    this.callerNow = callerNow;
    this.filter = filter;
    this.onClose = onClose;
  }

  TenantId tenant() {
    return caller.tenantId();
  }

  /** The only types that it may see; empty means all. */
  List<String> types() {
    return caller.types();
  }

  Viewer viewer() {
    return new Viewer(tenant(), types());
  }

  /** The API key that opened it; empty for the bootstrap admin key. */
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
        && caller.hasAccess(change.type());
  }

  /** Ends it if the caller has lost access; false if the database is too busy to check. */
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

  /** Queues a message for the client; never blocks. */
  void add(byte[] message) {
    if (!ended && !waiting.offer(message)) {
      end();
    }
  }

  /** Writes something, because only a write shows that a client has disconnected. */
  void probe() {
    if (waiting.isEmpty()) { // otherwise something is written anyway
      add(COMMENT);
    }
  }

  boolean isEnded() {
    return ended;
  }

  /** Drops all queued messages and closes the stream. */
  void end() {
    ended = true;
    waiting.clear();
    boolean _ = waiting.offer(END);
  }

  @Override
  public void writeTo(OutputStream out) throws IOException, InterruptedException {
    writeTo(out, KEEP_ALIVE_INTERVAL);
  }

  /**
   * @param keepAliveInterval a comment is written after this long without a message: proxies close
   *     silent connections, and only a write shows that a client has disconnected
   */
  void writeTo(OutputStream out, Duration keepAliveInterval)
      throws IOException, InterruptedException {
    out.write(START);
    out.flush();
    while (true) {
      byte[] next = waiting.poll(keepAliveInterval.toNanos(), TimeUnit.NANOSECONDS);
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
    onClose.accept(this);
  }
}
