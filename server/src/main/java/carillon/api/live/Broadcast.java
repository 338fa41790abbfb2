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
 * All streams of this node. One thread asks the database for all of them together, so that a
 * hundred cost it what one does.
 */
public final class Broadcast implements AutoCloseable {

  static final Duration EVERY = Duration.ofSeconds(1);

  /** Of one stream in one pass, so a second: more than a person can read. */
  static final int MOST_TOLD = 50;

  private static final Logger LOG = LoggerFactory.getLogger(Broadcast.class);

  private static final Duration STATS = Duration.ofSeconds(2);
  private static final Duration RENEWAL = Duration.ofSeconds(10);
  private static final Duration WATCHED = Duration.ofSeconds(30);

  /** With the time that a key is remembered and that a pass may take, less than 10 s. */
  private static final Duration CHECK = Duration.ofSeconds(6);

  /** What is written may be committed, and so be seen, so much later. */
  private static final Duration OVERLAP = Duration.ofSeconds(2);

  /** In which streams whose clients have gone are found: two passes and what they take. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** The first write to a client that has gone is answered with that, so the second one fails. */
  private static final int PROBES = 2;

  private static final Duration UNTIL_WOKEN = Duration.ofDays(1);

  private final Events events;
  private final ApiKeys keys;
  private final Function<Set<Viewer>, Map<Viewer, String>> stats;
  private final DatabaseGate database;
  private final InstantSource clock;
  private final Set<EventStream> streams = ConcurrentHashMap.newKeySet();
  private final AtomicInteger probes = new AtomicInteger(); // that are still to be sent
  private final Semaphore wakeUps = new Semaphore(0);
  private final Thread thread = Thread.ofPlatform().daemon().name("broadcast").unstarted(this::run);
  private volatile boolean closed;

  // Of the thread only.
  private final Turn probing = new Turn(EVERY);
  private final Turn reading = new Turn(EVERY);
  private final Turn looking = new Turn(STATS);
  private final Turn watching = new Turn(RENEWAL);
  private final Turn checking = new Turn(CHECK);
  private final Set<TenantId> watched = new HashSet<>();
  private final Map<Viewer, byte[]> looked = new HashMap<>();
  private Set<Long> read = Set.of();
  private @Nullable Instant readUntil; // null: nobody has watched
  private boolean isFailing;

  /** Something that is to be done every so often. */
  private static final class Turn {
    private final Duration every;
    private @Nullable Long last;

    Turn(Duration every) {
      this.every = every;
    }

    boolean has(long now) {
      return last == null || now - last >= every.toNanos();
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

  /** How many there are. */
  public int streams() {
    return streams.size();
  }

  /**
   * Lets a caller watch its tenant until the stream is closed.
   *
   * @param callerNow who it is by now, if its credentials are still good
   */
  EventStream open(Caller caller, Supplier<Caller> callerNow, EventStream.Filter filter) {
    EventStream stream = new EventStream(caller, callerNow, filter, streams::remove);
    synchronized (this) {
      if (closed || streams.size() >= Limits.STREAMS) {
        probes.set(PROBES);
        throw tooMany(ErrorCode.OVERLOADED, "this node has as many streams as it may have");
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
    return new ApiException(code, detail).with("Retry-After", String.valueOf(PATIENCE.toSeconds()));
  }

  private void run() {
    try {
      while (!closed) {
        Duration wait = passOnce(System.nanoTime());
        boolean _ = wakeUps.tryAcquire(wait.toNanos(), TimeUnit.NANOSECONDS);
        wakeUps.drainPermits();
      }
    } catch (InterruptedException e) {
      LOG.debug("stopped");
    }
  }

  /**
   * One pass. Says how long to wait for the next unless a stream is opened.
   *
   * @param now by {@link System#nanoTime}
   */
  Duration passOnce(long now) {
    streams.removeIf(EventStream::isEnded);
    List<EventStream> open = List.copyOf(streams);
    if (open.isEmpty()) {
      readUntil = null;
      read = Set.of();
      watched.clear();
      looked.clear();
      return UNTIL_WOKEN;
    }
    probe(open, now);
    Set<TenantId> tenants = new HashSet<>();
    open.forEach(stream -> tenants.add(stream.tenant()));
    try {
      check(open, now);
      tell(open, tenants, now); // first, so that nothing is old that was written for us
      watch(tenants, now);
      show(open, now);
      isFailing = false;
    } catch (StoreException | ApiException e) {
      if (!isFailing) { // said once until it works again
        LOG.warn("streams are told nothing for now: {}", e.getMessage());
      }
      isFailing = true;
    } catch (RuntimeException | Error e) { // a thread that ended would leave them all silent
      LOG.error("streams are told nothing for now", e);
    }
    return EVERY;
  }

  /** Not by who was refused: however many are, each stream is written to once a second. */
  private void probe(List<EventStream> open, long now) {
    if (probing.has(now) && probes.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
      open.forEach(EventStream::probe);
      probing.done(now);
    }
  }

  /** Reads all keys by one statement; while there is no time for that, the others go on. */
  private void check(List<EventStream> open, long now) {
    if (!checking.has(now)) {
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
      LOG.debug("keys are looked at by the next pass", e);
      return;
    }
    for (EventStream stream : open) {
      Optional<String> id = stream.keyId();
      if (id.isPresent() && !live.contains(id.get())) {
        stream.end();
      } else if (!stream.check()) {
        return; // who has to wait for one would have to wait for each
      }
    }
    checking.done(now);
  }

  private void watch(Set<TenantId> tenants, long now) {
    if (watching.has(now) || !watched.containsAll(tenants)) {
      database.use(() -> events.watch(tenants, WATCHED));
      watched.clear();
      watched.addAll(tenants);
      watching.done(now);
    }
  }

  /** An event with its message, which is made once for all who want it. */
  private static final class Message {
    private final Events.Change change;
    private final Instant at;
    private byte @Nullable [] bytes;

    Message(Events.Change change, Instant at) {
      this.change = change;
      this.at = at;
    }

    byte[] bytes() {
      byte[] made = bytes;
      if (made == null) {
        ObjectNode json =
            JsonNodeFactory.instance
                .objectNode()
                .put("id", change.task().toString())
                .put("type", change.type())
                .put("from", change.from() == null ? null : change.from().name())
                .put("to", change.to().name())
                .put("at", Times.format(at))
                .put("attempt", change.attempt());
        made = message("task", Json.MAPPER.writeValueAsString(json));
        bytes = made;
      }
      return made;
    }
  }

  private void tell(List<EventStream> open, Set<TenantId> tenants, long now) {
    if (!reading.has(now)) {
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
        continue; // before anybody watched here, or told already
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
      tell(
          stream,
          messages.getOrDefault(stream.tenant(), List.of()),
          skipped.getOrDefault(stream.tenant(), 0));
    }
  }

  private static void tell(EventStream stream, List<Message> messages, int skipped) {
    int told = 0;
    // Who may see some types only need not know how many there are of the others.
    int left = stream.types().isEmpty() ? skipped : Math.min(1, skipped);
    for (Message message : messages) {
      if (!stream.wants(message.change)) {
        continue;
      }
      if (told < MOST_TOLD) {
        stream.add(message.bytes());
        told++;
      } else {
        left++;
      }
    }
    if (left > 0) {
      stream.add(message("more", "{\"skipped\":" + left + "}"));
    }
  }

  /** The figures for everybody every two seconds, and for who is new at once. */
  private void show(List<EventStream> open, long now) {
    boolean forAll = looking.has(now);
    List<EventStream> viewers =
        open.stream()
            .filter(stream -> stream.wantsStats() && (forAll || !stream.hasStats()))
            .toList();
    if (forAll) {
      looked.clear();
      looking.done(now);
    }
    Set<Viewer> missing = new HashSet<>();
    viewers.forEach(stream -> missing.add(stream.viewer()));
    missing.removeAll(looked.keySet());
    if (!missing.isEmpty()) {
      stats.apply(missing).forEach((viewer, json) -> looked.put(viewer, message("stats", json)));
    }
    for (EventStream stream : viewers) {
      byte[] message = looked.get(stream.viewer());
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

  /** Ends all streams, so that nobody has to wait for them. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    streams.forEach(EventStream::end);
    thread.interrupt();
  }
}
