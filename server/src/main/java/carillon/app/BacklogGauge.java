package carillon.app;

import carillon.store.db.DbClock;
import carillon.store.db.StoreException;
import carillon.store.stats.Backlog;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Gauges of due tasks and dead letters. A scrape queries them at most every few seconds, and less
 * often the longer the query takes.
 */
final class BacklogGauge {

  private static final Duration MIN_AGE = Duration.ofSeconds(5);

  /**
   * A result is kept for this many times the query's duration: while a transaction holds an old
   * snapshot, the query steps over the entries of all tasks claimed since.
   */
  private static final int AGE_FACTOR = 100;

  private static final Duration MAX_AGE = Duration.ofSeconds(15);

  /** Counting stops here. */
  private static final int MAX_COUNT = 10_000;

  private final Backlog backlog;
  private final DbClock clock;
  private Backlog.@Nullable Length length; // guarded by this
  private long groups; // guarded by this
  private Instant readAt = Instant.EPOCH; // guarded by this
  private Instant freshUntil = Instant.EPOCH; // guarded by this

  BacklogGauge(Backlog backlog, DbClock clock) {
    this.backlog = backlog;
    this.clock = clock;
  }

  void register(Metrics metrics) {
    metrics.gauge("backlog.due", "due tasks waiting, counted up to " + MAX_COUNT, this::due);
    metrics.gauge(
        "backlog.oldest.seconds",
        "how long the oldest due task had waited when it was counted",
        this::oldest);
    metrics.gauge(
        "dead.letter.groups", "groups of dead letters, counted up to " + MAX_COUNT, this::groups);
  }

  private synchronized double due() {
    Backlog.Length length = read();
    return length == null ? Double.NaN : length.due();
  }

  private synchronized double groups() {
    return read() == null ? Double.NaN : groups;
  }

  /** Up to the time of the query, not up to now: the task may have been claimed since. */
  synchronized double oldest() {
    Backlog.Length length = read();
    if (length == null) {
      return Double.NaN;
    }
    Instant oldest = length.oldest();
    return oldest == null ? 0 : Duration.between(oldest, readAt).toMillis() / 1e3;
  }

  /** Null while it is not known, because the query took too long. */
  private synchronized Backlog.@Nullable Length read() {
    Instant now = clock.instant();
    if (freshUntil.isBefore(now)) {
      length = null;
      readAt = now;
      long began = System.nanoTime();
      try {
        length = backlog.read(now, MAX_COUNT);
        groups = backlog.deadLetterGroups(MAX_COUNT);
      } catch (StoreException e) {
        if (e.isTooMuch()) {
          freshUntil = now.plus(MAX_AGE); // the other gauges must not wait for it again
        }
        throw e;
      }
      long age = (System.nanoTime() - began) * AGE_FACTOR;
      freshUntil = now.plusNanos(Math.clamp(age, MIN_AGE.toNanos(), MAX_AGE.toNanos()));
    }
    return length;
  }
}
