package carillon.engine;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.TaskState;
import carillon.store.catalog.Catalog;
import carillon.store.db.StoreException;
import carillon.store.db.Transitions;
import carillon.store.stats.Events;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes this node's transitions as events for the event streams of all nodes. Without open
 * streams, it only checks for new ones. Events beyond a limit are counted instead of written.
 */
public final class Feed implements Transitions.Listener, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Feed.class);

  /** Events of one tenant per pass, which is a second. */
  static final int MAX_PER_TENANT = 100;

  /** Events of all tenants per pass. */
  static final int MAX_EVENTS = 2_000;

  private static final Duration INTERVAL_WATCHED = Duration.ofSeconds(1);
  private static final Duration INTERVAL_UNWATCHED = Duration.ofSeconds(2);

  private final Events events;
  private final Catalog catalog;
  private final InstantSource clock;
  private final Supplier<String> node;
  private volatile Set<TenantId> watched = Set.of();
  private @Nullable Loop loop;

  // Guarded by this.
  private Map<Integer, Gathered> gathered = new TreeMap<>();
  private int all;

  /** The events of one tenant since the last pass. */
  private static final class Gathered {
    private final List<Events.Event> events = new ArrayList<>();
    private int skipped;
  }

  /**
   * @param node the id of this node
   */
  public Feed(Events events, Catalog catalog, InstantSource clock, Supplier<String> node) {
    this.events = events;
    this.catalog = catalog;
    this.clock = clock;
    this.node = node;
  }

  /**
   * Starts to write.
   *
   * @param onFailure receives the loop's name after a pass that threw
   */
  public void start(Consumer<String> onFailure) {
    loop = new Loop("feed", this::feedOnce, onFailure).start();
  }

  @Override
  public void created(List<? extends Transitions.Created> tasks) {
    if (!watched.isEmpty()) {
      Instant now = clock.instant();
      tasks.forEach(task -> add(now, task.laneId(), task.id(), null, TaskState.PENDING, 0));
    }
  }

  @Override
  public void claimed(List<ClaimedTask> tasks) {
    if (!watched.isEmpty()) {
      Instant now = clock.instant();
      tasks.forEach(
          task ->
              add(
                  now,
                  task.lane(),
                  task.id(),
                  TaskState.PENDING,
                  TaskState.RUNNING,
                  task.attempt()));
    }
  }

  @Override
  public void moved(List<? extends Transitions.Move> moves) {
    if (!watched.isEmpty()) {
      Instant now = clock.instant();
      moves.forEach(
          move -> add(now, move.lane(), move.id(), move.from(), move.to(), move.attempt()));
    }
  }

  @Override
  public void touched(Transitions.Touched task) {
    if (!watched.isEmpty()) {
      add(clock.instant(), task.lane(), task.id(), task.state(), task.state(), task.attempt());
    }
  }

  private void add(
      Instant at, int laneId, TaskId id, @Nullable TaskState from, TaskState to, int attempt) {
    // Runs on the committing thread, which must neither wait for a query nor fail.
    Optional<Lane> known = catalog.knownLane(laneId);
    if (known.isEmpty()) {
      watched.forEach(this::skipOne); // its tenant is unknown
      return;
    }
    Lane lane = known.get();
    if (!watched.contains(lane.tenant())) {
      return;
    }
    synchronized (this) {
      Gathered of = of(lane.tenant());
      if (of.events.size() == MAX_PER_TENANT || all == MAX_EVENTS) {
        of.skipped++;
      } else {
        var change = new Events.Change(id, lane.type(), from, to, attempt);
        of.events.add(new Events.Event(lane.tenant(), at, change, 0));
        all++;
      }
    }
  }

  private synchronized void skipOne(TenantId tenant) {
    of(tenant).skipped++;
  }

  private Gathered of(TenantId tenant) {
    return gathered.computeIfAbsent(tenant.value(), _ -> new Gathered());
  }

  /** One pass: writes the gathered events in one statement, and reads which tenants are watched. */
  Duration feedOnce() {
    List<Events.Event> taken = take();
    if (!taken.isEmpty()) {
      try {
        events.write(taken, node.get());
      } catch (StoreException e) {
        taken.forEach(this::skip);
        throw e;
      }
    }
    watched = Set.copyOf(events.watched());
    return watched.isEmpty() ? INTERVAL_UNWATCHED : INTERVAL_WATCHED;
  }

  private List<Events.Event> take() {
    Map<Integer, Gathered> taken;
    synchronized (this) {
      taken = gathered;
      gathered = new TreeMap<>();
      all = 0;
    }
    List<Events.Event> some = new ArrayList<>();
    taken.forEach(
        (tenant, of) -> {
          some.addAll(of.events);
          if (of.skipped > 0) {
            some.add(new Events.Event(new TenantId(tenant), clock.instant(), null, of.skipped));
          }
        });
    return some;
  }

  /** Events that could not be written would be too old for the next pass, so they are counted. */
  private synchronized void skip(Events.Event event) {
    of(event.tenant()).skipped += Math.max(1, event.skipped());
  }

  /** Writes the last events if the database is reachable. */
  @Override
  public void close() {
    if (loop != null) {
      loop.close();
    }
    try {
      var _ = feedOnce();
    } catch (StoreException e) {
      log.debug("last events lost error={}", e.toString());
    }
  }
}
