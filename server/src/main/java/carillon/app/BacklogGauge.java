package carillon.app;

import carillon.store.DbClock;
import carillon.store.WorkQueue;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What is due and waits, looked up when somebody asks, but not more often than every few seconds.
 */
final class BacklogGauge {

  private static final Duration FRESH = Duration.ofSeconds(2);

  /** Counting stops there: a longer line is simply long. */
  private static final int MOST = 10_000;

  private final WorkQueue queue;
  private final DbClock clock;
  private WorkQueue.@Nullable Backlog backlog; // guarded by this
  private Instant readAt = Instant.EPOCH; // guarded by this

  BacklogGauge(WorkQueue queue, DbClock clock) {
    this.queue = queue;
    this.clock = clock;
  }

  void register(Metrics metrics) {
    metrics.gauge(
        "backlog.due", "tasks that are due and wait, counted up to " + MOST, () -> read().due());
    metrics.gauge("backlog.oldest.seconds", "how long the first of them has waited", this::oldest);
  }

  private double oldest() {
    Instant oldest = read().oldest();
    return oldest == null ? 0 : Duration.between(oldest, clock.instant()).toMillis() / 1e3;
  }

  private synchronized WorkQueue.Backlog read() {
    Instant now = clock.instant();
    WorkQueue.Backlog known = backlog;
    if (known == null || readAt.plus(FRESH).isBefore(now)) {
      known = queue.backlog(now, MOST);
      backlog = known;
      readAt = now;
    }
    return known;
  }
}
