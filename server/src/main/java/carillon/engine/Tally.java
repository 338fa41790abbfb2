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
 * Counts in memory what this process does to tasks, and adds it up in the database every two
 * seconds. What a process had not written yet is lost with it.
 */
public final class Tally implements Transitions.Listener, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Tally.class);
  private static final Duration INTERVAL = Duration.ofSeconds(2);

  private final Activity activity;
  private final Catalog catalog;

  /** By lane, so that counting looks nothing up. Guarded by this. */
  private Map<Integer, Counts> counting = new HashMap<>();

  /** What could not be written yet; of the thread that flushes only. */
  private final Map<Integer, Counts> kept = new HashMap<>();

  private @Nullable Loop loop;

  public Tally(Activity activity, Catalog catalog) {
    this.activity = activity;
    this.catalog = catalog;
  }

  /**
   * Starts to write every two seconds.
   *
   * @param whenFailed told the loop's name after a pass that threw
   */
  public void start(Consumer<String> whenFailed) {
    loop = new Loop("tally", this::flushOnce, whenFailed).start();
  }

  @Override
  public synchronized void claimed(List<ClaimedTask> tasks) {
    int lane = -1;
    Counts counts = new Counts();
    for (ClaimedTask task : tasks) {
      if (task.lane() != lane) { // the tasks of a lane come one after the other
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

  /** What it counts as; null where nothing was achieved or lost by it. */
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

  /** One pass. What cannot be written is kept for the next one. */
  Duration flushOnce() {
    Map<Integer, Counts> counted;
    synchronized (this) {
      counted = counting;
      counting = new HashMap<>(counted.size() * 2);
    }
    counted.forEach((lane, counts) -> kept.computeIfAbsent(lane, _ -> new Counts()).add(counts));
    if (!kept.isEmpty()) {
      Collection<Activity.Row> rows = rows();
      if (!rows.isEmpty()) {
        activity.add(rows);
      }
      kept.clear();
    }
    return INTERVAL;
  }

  private record Key(int tenant, String type) {}

  /** For each type, each tenant and the whole installation. */
  private Collection<Activity.Row> rows() {
    Map<Key, Activity.Row> rows = new HashMap<>();
    kept.forEach(
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

  /** Null if there is none of this number any more: the database has another history. */
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

  /** Writes what is left, if that can be done now. */
  @Override
  public void close() {
    if (loop != null) {
      loop.close();
    }
    try {
      flushOnce();
    } catch (StoreException e) {
      log.warn("what happened last is not counted error={}", e.toString());
    }
  }
}
