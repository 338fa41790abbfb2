package carillon.engine;

import carillon.model.task.ClaimedTask;
import carillon.model.task.Counts;
import carillon.model.task.Lane;
import carillon.store.catalog.Catalog;
import carillon.store.db.StoreException;
import carillon.store.db.Transitions;
import carillon.store.stats.Activity;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the transitions that this process commits, and adds the counts to the database every two
 * seconds. A crash loses the counts that were not written yet.
 */
public final class Tally implements Transitions.Listener, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Tally.class);
  private static final Duration INTERVAL = Duration.ofSeconds(2);

  private final Activity activity;
  private final Catalog catalog;

  /** By lane, so that counting needs no lookup. Guarded by this. */
  private Map<Integer, Counts> counting = new HashMap<>();

  /** Counts that are not written yet. Used by the flushing thread only. */
  private final Map<Integer, Counts> unwritten = new HashMap<>();

  private @Nullable Loop loop;

  public Tally(Activity activity, Catalog catalog) {
    this.activity = activity;
    this.catalog = catalog;
  }

  /**
   * Starts to write every two seconds.
   *
   * @param onFailure receives the loop's name after a pass that threw
   */
  public void start(Consumer<String> onFailure) {
    loop = new Loop("tally", this::flushOnce, onFailure).start();
  }

  @Override
  public synchronized void claimed(List<ClaimedTask> tasks) {
    int lane = -1;
    Counts counts = new Counts();
    for (ClaimedTask task : tasks) {
      if (task.lane() != lane) { // tasks are grouped by lane
        lane = task.lane();
        counts = of(lane);
      }
      counts.addStarted(task.readyAt(), task.claimedAt());
    }
  }

  @Override
  public synchronized void moved(List<? extends Transitions.Move> moves) {
    int lane = -1;
    Counts counts = new Counts();
    for (Transitions.Move move : moves) {
      Counts.Kind kind = kind(move);
      if (kind != null) {
        if (move.lane() != lane) {
          lane = move.lane();
          counts = of(lane);
        }
        counts.add(kind);
      }
    }
  }

  private Counts of(int lane) {
    return counting.computeIfAbsent(lane, _ -> new Counts());
  }

  /** How a transition is counted; null if it is not. */
  private static Counts.@Nullable Kind kind(Transitions.Move move) {
    return switch (move.to()) {
      case COMPLETED -> Counts.Kind.COMPLETED;
      case DEAD -> Counts.Kind.DEAD;
      case CANCELLED -> Counts.Kind.CANCELLED;
      case EXPIRED -> Counts.Kind.EXPIRED;
      case PENDING ->
          switch (move.from()) {
            case RUNNING -> move.isReleased() ? null : Counts.Kind.RETRIED;
            case PENDING, COMPLETED, DEAD, CANCELLED, EXPIRED -> null; // redriven
          };
      case RUNNING -> null; // counted as claimed
    };
  }

  /** One pass. Counts that cannot be written are left to the next one. */
  Duration flushOnce() {
    Map<Integer, Counts> counted;
    synchronized (this) {
      counted = counting;
      counting = new HashMap<>(counted.size() * 2);
    }
    counted.forEach(
        (lane, counts) -> unwritten.computeIfAbsent(lane, _ -> new Counts()).add(counts));
    if (!unwritten.isEmpty()) {
      Collection<Activity.Row> rows = rows();
      if (!rows.isEmpty()) {
        activity.add(rows);
      }
      unwritten.clear();
    }
    return INTERVAL;
  }

  private record Key(int tenant, String type) {}

  /** For each type, each tenant and the whole installation. */
  private Collection<Activity.Row> rows() {
    Map<Key, Activity.Row> rows = new HashMap<>();
    unwritten.forEach(
        (id, counts) -> {
          Lane lane = lane(id);
          if (lane != null) {
            int tenant = lane.tenant().value();
            add(rows, new Key(tenant, lane.type()), counts);
            add(rows, new Key(tenant, Activity.ALL_TYPES), counts);
            add(rows, new Key(Activity.ALL_TENANTS, Activity.ALL_TYPES), counts);
          }
        });
    return rows.values();
  }

  private static void add(Map<Key, Activity.Row> rows, Key key, Counts counts) {
    rows.computeIfAbsent(key, k -> new Activity.Row(k.tenant(), k.type(), new Counts()))
        .counts()
        .add(counts);
  }

  /** Null if the lane no longer exists: the database was replaced by another timeline. */
  private @Nullable Lane lane(int id) {
    try {
      return catalog.lane(id);
    } catch (StoreException e) {
      if (e.isUnavailable() || e.isBusy()) {
        throw e;
      }
      return null;
    }
  }

  /** Writes the remaining counts if the database is reachable. */
  @Override
  public void close() {
    if (loop != null) {
      loop.close();
    }
    try {
      flushOnce();
    } catch (StoreException e) {
      log.warn("last counts lost error={}", e.toString());
    }
  }
}
