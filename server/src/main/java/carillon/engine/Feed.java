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
 * Writes down what becomes of tasks here, for whoever watches them through any node. While nobody
 * does it only looks whether somebody has begun to; what is too much for a person to read is only
 * counted.
 */
public final class Feed implements Transitions.Listener, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Feed.class);

  /** Of one tenant and in one pass, so a second. */
  static final int MOST_OF_TENANT = 100;

  /** Of all tenants in one pass. */
  static final int MOST = 2_000;

  private static final Duration WATCHED = Duration.ofSeconds(1);
  private static final Duration UNWATCHED = Duration.ofSeconds(2);

  private final Events events;
  private final Catalog catalog;
  private final InstantSource clock;
  private final Supplier<String> node;
  private volatile Set<TenantId> watched = Set.of();
  private @Nullable Loop loop;

  // Guarded by this.
  private Map<Integer, Gathered> gathered = new TreeMap<>();
  private int all;

  /** Of one tenant, since the last pass. */
  private static final class Gathered {
    private final List<Events.Event> events = new ArrayList<>();
    private int skipped;
  }

  /**
   * @param node names this one
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
   * @param whenFailed told the loop's name after a pass that threw
   */
  public void start(Consumer<String> whenFailed) {
    loop = new Loop("feed", this::feedOnce, whenFailed).start();
  }

  @Override
  public void created(List<? extends Transitions.Created> tasks) {
    if (!watched.isEmpty()) {
      Instant now = clock.instant();
      tasks.forEach(task -> add(now, task.lane(), task.id(), null, TaskState.PENDING, 0));
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
    // Who has just committed must not wait for the database on our behalf, nor fail.
    Optional<Lane> known = catalog.knownLane(laneId);
    if (known.isEmpty()) {
      watched.forEach(this::skipOne); // whose it is we cannot say
      return;
    }
    Lane lane = known.get();
    if (!watched.contains(lane.tenant())) {
      return;
    }
    synchronized (this) {
      Gathered of = of(lane.tenant());
      if (of.events.size() == MOST_OF_TENANT || all == MOST) {
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

  /** One pass: writes what was gathered in one statement, and looks who is watched by now. */
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
    return watched.isEmpty() ? UNWATCHED : WATCHED;
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

  /** What could not be written is too old to be shown by the next pass. */
  private synchronized void skip(Events.Event event) {
    of(event.tenant()).skipped += Math.max(1, event.skipped());
  }

  /** Writes what happened last, if that can be done now. */
  @Override
  public void close() {
    if (loop != null) {
      loop.close();
    }
    try {
      var _ = feedOnce();
    } catch (StoreException e) {
      log.debug("what happened last is not shown error={}", e.toString());
    }
  }
}
