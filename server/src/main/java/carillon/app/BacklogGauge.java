package carillon.app;

import carillon.store.db.DbClock;
import carillon.store.stats.Backlog;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is due and waits, and what has died, looked up when somebody asks, but not more often than
 * every few seconds, and more seldom where a look is long.
 */
final class BacklogGauge {

  private static final Duration FRESH = Duration.ofSeconds(5);

  /** Times what a look took: it steps over all that was claimed while an old snapshot is held. */
  private static final int RESTS = 100;

  private static final Duration STALEST = Duration.ofSeconds(15);

  /** Counting stops there: a longer line is simply long. */
  private static final int MOST = 10_000;

  private final Backlog backlog;
  private final DbClock clock;
  private Backlog.@Nullable Length length; // guarded by this
  private long groups; // guarded by this
  private Instant lookedAt = Instant.EPOCH; // guarded by this
  private Instant freshUntil = Instant.EPOCH; // guarded by this

  BacklogGauge(Backlog backlog, DbClock clock) {
    this.backlog = backlog;
    this.clock = clock;
  }

  void register(Metrics metrics) {
    metrics.gauge(
        "backlog.due", "tasks that are due and wait, counted up to " + MOST, () -> read().due());
    metrics.gauge(
        "backlog.oldest.seconds",
        "how long the first of them had waited when it was looked up",
        this::oldest);
    metrics.gauge(
        "dead.letter.groups", "kinds of dead letters, counted up to " + MOST, this::groups);
  }

  private synchronized double groups() {
    read();
    return groups;
  }

  /** Not until now: it may have been claimed since. */
  synchronized double oldest() {
    Instant oldest = read().oldest();
    return oldest == null ? 0 : Duration.between(oldest, lookedAt).toMillis() / 1e3;
  }

  private synchronized Backlog.Length read() {
    Instant now = clock.instant();
    Backlog.Length known = length;
    if (known == null || freshUntil.isBefore(now)) {
      long began = System.nanoTime();
      known = backlog.look(now, MOST);
      groups = backlog.deadLetterGroups(MOST);
      length = known;
      lookedAt = now;
      long rest = (System.nanoTime() - began) * RESTS;
      freshUntil = now.plusNanos(Math.clamp(rest, FRESH.toNanos(), STALEST.toNanos()));
    }
    return known;
  }
}
