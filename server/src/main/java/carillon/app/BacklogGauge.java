package carillon.app;

import carillon.store.db.DbClock;
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
    metrics.gauge(
        "backlog.due", "due tasks waiting, counted up to " + MAX_COUNT, () -> read().due());
    metrics.gauge(
        "backlog.oldest.seconds",
        "how long the oldest due task had waited when it was counted",
        this::oldest);
    metrics.gauge(
        "dead.letter.groups", "groups of dead letters, counted up to " + MAX_COUNT, this::groups);
  }

  private synchronized double groups() {
    read();
    return groups;
  }

  /** Up to the time of the query, not up to now: the task may have been claimed since. */
  synchronized double oldest() {
    Instant oldest = read().oldest();
    return oldest == null ? 0 : Duration.between(oldest, readAt).toMillis() / 1e3;
  }

  private synchronized Backlog.Length read() {
    Instant now = clock.instant();
    Backlog.Length known = length;
    if (known == null || freshUntil.isBefore(now)) {
      long began = System.nanoTime();
      known = backlog.read(now, MAX_COUNT);
      groups = backlog.deadLetterGroups(MAX_COUNT);
      length = known;
      readAt = now;
      long age = (System.nanoTime() - began) * AGE_FACTOR;
      freshUntil = now.plusNanos(Math.clamp(age, MIN_AGE.toNanos(), MAX_AGE.toNanos()));
    }
    return known;
  }
}
