package carillon.api.live;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Caller;
import carillon.api.http.DatabaseGate;
import carillon.api.json.Times;
import carillon.model.TenantId;
import carillon.store.catalog.ApiKeys;
import carillon.store.db.Json;
import carillon.store.db.StoreException;
import carillon.store.stats.Events;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * All event streams of this node. One thread queries the database for all of them together, so that
 * a hundred streams cost as much as one.
 */
public final class Broadcast implements AutoCloseable {

  static final Duration PASS_INTERVAL = Duration.ofSeconds(1);

  /** For one stream: more in a second than a person can read. */
  static final int MAX_EVENTS_PER_PASS = 50;

  private static final Logger log = LoggerFactory.getLogger(Broadcast.class);

  private static final Duration STATS_INTERVAL = Duration.ofSeconds(2);
  private static final Duration WATCH_INTERVAL = Duration.ofSeconds(10);
  private static final Duration WATCH_DURATION = Duration.ofSeconds(30);

  /** Less than 10 s together with the time that keys are cached and a pass takes. */
  private static final Duration KEY_CHECK_INTERVAL = Duration.ofSeconds(6);

  /** Events may be committed, and so become visible, this long after they were written. */
  private static final Duration OVERLAP = Duration.ofSeconds(2);

  /** Disconnected clients are found within this time: two passes. */
  private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

  /** The first write to a disconnected client makes the second one fail. */
  private static final int PROBES = 2;

  private static final Duration UNTIL_WOKEN = Duration.ofDays(1);

  private final Events events;
  private final ApiKeys keys;
  private final Function<Set<Viewer>, Map<Viewer, String>> stats;
  private final DatabaseGate database;
  private final InstantSource clock;
  private final Set<EventStream> streams = ConcurrentHashMap.newKeySet();
  private final AtomicInteger probes = new AtomicInteger(); // left to send
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread thread = Thread.ofPlatform().daemon().name("broadcast").unstarted(this::run);
  private volatile boolean closed;

  // Used by the broadcast thread only.
  private final Turn probing = new Turn(PASS_INTERVAL);
  private final Turn reading = new Turn(PASS_INTERVAL);
  private final Turn sendingStats = new Turn(STATS_INTERVAL);
  private final Turn watching = new Turn(WATCH_INTERVAL);
  private final Turn checking = new Turn(KEY_CHECK_INTERVAL);
  private final Set<TenantId> watched = new HashSet<>();
  private final Map<Viewer, byte[]> statsMessages = new HashMap<>();
  private Set<Long> read = Set.of();
  private @Nullable Instant readUntil; // null while there are no streams
  private boolean isFailing;

  /** Work that is repeated at an interval. */
  private static final class Turn {
    private final Duration interval;
    private @Nullable Long last;

    Turn(Duration interval) {
      this.interval = interval;
    }

    boolean isDue(long now) {
      return last == null || now - last >= interval.toNanos();
    }

    void done(long now) {
      last = now;
    }
  }

  /**
   * @param stats the response of {@code GET /v1/stats} for each viewer, except those of which
   *     nothing could be read
   */
  public Broadcast(
      Events events,
      ApiKeys keys,
      Function<Set<Viewer>, Map<Viewer, String>> stats,
      DatabaseGate database,
      InstantSource clock) {
    this.events = events;
    this.keys = keys;
    this.stats = stats;
    this.database = database;
    this.clock = clock;
  }

  public Broadcast start() {
    thread.start();
    return this;
  }

  public int streams() {
    return streams.size();
  }

  /**
   * Opens a stream for a caller.
   *
   * @param callerNow authenticates the caller again
   */
  EventStream open(Caller caller, Supplier<Caller> callerNow, EventStream.Filter filter) {
    EventStream stream = new EventStream(caller, callerNow, filter, streams::remove);
    synchronized (this) {
      if (closed || streams.size() >= Limits.STREAMS) {
        probes.set(PROBES);
        throw tooMany(ErrorCode.OVERLOADED, "this node has the maximum number of event streams");
      }
      long ofTenant =
          streams.stream().filter(each -> each.tenant().equals(caller.tenantId())).count();
      if (ofTenant >= Limits.STREAMS_OF_TENANT) {
        probes.set(PROBES);
        throw tooMany(ErrorCode.TOO_MANY_STREAMS, ErrorCode.TOO_MANY_STREAMS.meaning());
      }
      streams.add(stream);
    }
    wakeUps.release();
    return stream;
  }

  private static ApiException tooMany(ErrorCode code, String detail) {
    return new ApiException(code, detail)
        .with("Retry-After", String.valueOf(RETRY_AFTER.toSeconds()));
  }

  private void run() {
    try {
      while (!closed) {
        Duration wait = passOnce(System.nanoTime());
        boolean _ = wakeUps.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS);
        wakeUps.drainPermits();
      }
    } catch (InterruptedException e) {
      log.debug("stopped");
    }
  }

  /**
   * Runs one pass and returns how long to wait for the next, unless a stream is opened.
   *
   * @param now as {@link System#nanoTime}
   */
  Duration passOnce(long now) {
    streams.removeIf(EventStream::isEnded);
    List<EventStream> open = List.copyOf(streams);
    if (open.isEmpty()) {
      readUntil = null;
      read = Set.of();
      watched.clear();
      statsMessages.clear();
      return UNTIL_WOKEN;
    }
    probe(open, now);
    Set<TenantId> tenants = new HashSet<>();
    open.forEach(stream -> tenants.add(stream.tenant()));
    try {
      checkKeys(open, now);
      sendEvents(
          open, tenants, now); // before watch(), so that the first events after it count as new
      watch(tenants, now);
      sendStats(open, now);
      isFailing = false;
    } catch (StoreException | ApiException e) {
      if (!isFailing) { // once until it works again
        log.warn("event streams paused error={}", e.getMessage());
      }
      isFailing = true;
    } catch (RuntimeException | Error e) { // without this thread all streams would be silent
      log.error("event streams paused", e);
    }
    return PASS_INTERVAL;
  }

  /** Called here and not by rejected clients: each stream gets at most one probe a second. */
  private void probe(List<EventStream> open, long now) {
    if (probing.isDue(now) && probes.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      open.forEach(EventStream::probe);
      probing.done(now);
    }
  }

  /** Reads all keys with one statement; if the database is busy, the next pass does. */
  private void checkKeys(List<EventStream> open, long now) {
    if (!checking.isDue(now)) {
      return;
    }
    Set<String> ids = new HashSet<>();
    open.forEach(stream -> stream.keyId().ifPresent(ids::add));
    Set<String> live = Set.of();
    try {
      if (!ids.isEmpty()) {
        live = database.use(() -> keys.remember(ids));
      }
    } catch (ApiException e) {
      log.debug("key check postponed to the next pass", e);
      return;
    }
    for (EventStream stream : open) {
      Optional<String> id = stream.keyId();
      if (id.isPresent() && !live.contains(id.get())) {
        stream.end();
      } else if (!stream.check()) {
        return; // the database is busy: each further stream would wait too
      }
    }
    checking.done(now);
  }

  private void watch(Set<TenantId> tenants, long now) {
    if (watching.isDue(now) || !watched.containsAll(tenants)) {
      database.use(() -> events.watch(tenants, WATCH_DURATION));
      watched.clear();
      watched.addAll(tenants);
      watching.done(now);
    }
  }

  /** An event and its message, which is created once for all streams. */
  private static final class Message {
    private final Events.Change change;
    private final Instant at;
    private byte @Nullable [] bytes;

    Message(Events.Change change, Instant at) {
      this.change = change;
      this.at = at;
    }

    byte[] bytes() {
      byte[] message = bytes;
      if (message == null) {
        ObjectNode json =
            JsonNodeFactory.instance
                .objectNode()
                .put("id", change.task().toString())
                .put("type", change.type())
                .put("from", change.from() == null ? null : change.from().name())
                .put("to", change.to().name())
                .put("at", Times.format(at))
                .put("attempt", change.attempt());
        message = Broadcast.message("task", Json.MAPPER.writeValueAsString(json));
        bytes = message;
      }
      return message;
    }
  }

  private void sendEvents(List<EventStream> open, Set<TenantId> tenants, long now) {
    if (!reading.isDue(now)) {
      return;
    }
    Instant until = clock.instant();
    Instant since = readUntil == null ? until : readUntil;
    List<Events.Written> written = database.use(() -> events.read(tenants, since.minus(OVERLAP)));
    boolean isFirst = readUntil == null;
    readUntil = until;
    reading.done(now);
    Map<TenantId, List<Message>> messages = new HashMap<>();
    Map<TenantId, Integer> skipped = new HashMap<>();
    Set<Long> ids = new HashSet<>();
    for (Events.Written each : written) {
      ids.add(each.id());
      if (isFirst || read.contains(each.id())) {
        continue; // older than the first stream, or already sent
      }
      Events.Event event = each.event();
      if (event.change() == null) {
        skipped.merge(event.tenant(), event.skipped(), Integer::sum);
      } else {
        messages
            .computeIfAbsent(event.tenant(), _ -> new ArrayList<>())
            .add(new Message(event.change(), event.at()));
      }
    }
    read = ids;
    for (EventStream stream : open) {
      send(
          stream,
          messages.getOrDefault(stream.tenant(), List.of()),
          skipped.getOrDefault(stream.tenant(), 0));
    }
  }

  private static void send(EventStream stream, List<Message> messages, int skipped) {
    int sent = 0;
    // A caller that is limited to types must not learn how many events the others have.
    int left = stream.types().isEmpty() ? skipped : Math.min(1, skipped);
    for (Message message : messages) {
      if (!stream.wants(message.change)) {
        continue;
      }
      if (sent < MAX_EVENTS_PER_PASS) {
        stream.add(message.bytes());
        sent++;
      } else {
        left++;
      }
    }
    if (left > 0) {
      stream.add(message("more", "{\"skipped\":" + left + "}"));
    }
  }

  /** Sends statistics to all streams every two seconds, and to a new stream immediately. */
  private void sendStats(List<EventStream> open, long now) {
    boolean forAll = sendingStats.isDue(now);
    List<EventStream> viewers =
        open.stream()
            .filter(stream -> stream.wantsStats() && (forAll || !stream.hasStats()))
            .toList();
    if (forAll) {
      statsMessages.clear();
      sendingStats.done(now);
    }
    Set<Viewer> missing = new HashSet<>();
    viewers.forEach(stream -> missing.add(stream.viewer()));
    missing.removeAll(statsMessages.keySet());
    if (!missing.isEmpty()) {
      stats
          .apply(missing)
          .forEach((viewer, json) -> statsMessages.put(viewer, message("stats", json)));
    }
    for (EventStream stream : viewers) {
      byte[] message = statsMessages.get(stream.viewer());
      if (message != null) {
        stream.addStats(message);
      }
    }
  }

  /**
   * @param data JSON in one line
   */
  private static byte[] message(String event, String data) {
    return ("event: " + event + "\ndata: " + data + "\n\n").getBytes(StandardCharsets.UTF_8);
  }

  /** Ends all streams, so that the server can stop. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    streams.forEach(EventStream::end);
    thread.interrupt();
  }
}
