package carillon.store.tasks;

import carillon.model.task.FailureKind;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Counts the events that this process has committed, over all of its database pools. */
public final class Counters {

  /** How a claim ended. */
  public enum ClaimEnd {
    COMPLETED,
    RETRIED,
    RELEASED,
    DEAD,
    CANCELLED
  }

  private final LongAdder created = new LongAdder();
  private final LongAdder callbacks = new LongAdder();
  private final LongAdder alerts = new LongAdder();
  private final Map<ClaimEnd, LongAdder> ends = adders(ClaimEnd.class);
  private final Map<FailureKind, LongAdder> failures = adders(FailureKind.class);

  private static <K extends Enum<K>> Map<K, LongAdder> adders(Class<K> kinds) {
    Map<K, LongAdder> adders = new EnumMap<>(kinds);
    Arrays.stream(kinds.getEnumConstants()).forEach(kind -> adders.put(kind, new LongAdder()));
    return adders;
  }

  private static <K> LongAdder of(Map<K, LongAdder> adders, K kind) {
    return Objects.requireNonNull(adders.get(kind));
  }

  void addCreated(int tasks) {
    created.add(tasks);
  }

  public void addCallbacks(int tasks) {
    callbacks.add(tasks);
  }

  public void addAlerts(int tasks) {
    alerts.add(tasks);
  }

  /**
   * Counts the end of a claim.
   *
   * @param failure why the attempt failed; null if it did not
   */
  public void addEnd(ClaimEnd end, @Nullable FailureKind failure) {
    of(ends, end).increment();
    if (failure != null) {
      of(failures, failure).increment();
    }
  }

  public long created() {
    return created.sum();
  }

  /** Callback tasks created. */
  public long callbacks() {
    return callbacks.sum();
  }

  /** Alerts raised. */
  public long alerts() {
    return alerts.sum();
  }

  /** Claims that ended this way, whether by an attempt, a worker's report or the reaper. */
  public long count(ClaimEnd end) {
    return of(ends, end).sum();
  }

  /** Attempts with this kind of failure. */
  public long count(FailureKind failure) {
    return of(failures, failure).sum();
  }
}
