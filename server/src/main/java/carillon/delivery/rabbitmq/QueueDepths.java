package carillon.delivery.rabbitmq;

import carillon.model.target.Target;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * How full the queues are that somebody limits: what the broker counted last, and what we handed in
 * since.
 */
final class QueueDepths {

  private static final long UNWATCHED_AFTER = Duration.ofMinutes(1).toNanos();

  /** Asks the broker for the messages in a queue; empty if there is no such queue. */
  interface Count {
    OptionalLong of(String queue) throws IOException;
  }

  /** One queue. */
  static final class Watch {
    private final AtomicLong handedIn = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private volatile boolean isMeasured;
    private volatile boolean isThere;
    private volatile long base; // messages in it, less those of ours that had ended when we asked
    private volatile long most;
    private volatile long askedAt = System.nanoTime();
    private volatile boolean isWaitedFor;

    void ended() {
      ended.incrementAndGet();
    }

    private long room() {
      if (!isMeasured) {
        return 0;
      }
      return isThere ? Math.max(0, most - depth()) : Integer.MAX_VALUE;
    }

    private long depth() {
      return base + handedIn.get();
    }
  }

  private final Map<String, Watch> watches = new ConcurrentHashMap<>();

  /** What it takes now; nothing before it was counted for the first time. */
  int room(Target.DepthLimit limit) {
    Watch watch = watches.computeIfAbsent(limit.of(), _ -> new Watch());
    watch.most = limit.most();
    watch.askedAt = System.nanoTime();
    long room = watch.room();
    if (room == 0) {
      watch.isWaitedFor = true;
    }
    return (int) Math.min(Integer.MAX_VALUE, room);
  }

  /** Whether somebody has asked about a queue that was never counted. */
  boolean hasNew() {
    return watches.values().stream().anyMatch(watch -> !watch.isMeasured);
  }

  /** Counts a message that is on its way to a queue; null where nobody watches. */
  @Nullable Watch handIn(Target.RabbitMq target) {
    Target.DepthLimit limit = target.depth();
    Watch watch = limit == null ? null : watches.get(limit.of());
    if (watch != null) {
      watch.handedIn.incrementAndGet();
    }
    return watch;
  }

  /** Counts every queue that somebody asks about; whether one that was waited for has room now. */
  boolean measure(Count count) throws IOException {
    long now = System.nanoTime();
    watches.values().removeIf(watch -> now - watch.askedAt > UNWATCHED_AFTER);
    boolean hasRoom = false;
    for (Map.Entry<String, Watch> entry : watches.entrySet()) {
      Watch watch = entry.getValue();
      // Before the broker counts: what is confirmed meanwhile counts twice, and nothing never.
      long ended = watch.ended.get();
      OptionalLong messages = count.of(entry.getKey());
      watch.isThere = messages.isPresent();
      watch.base = messages.orElse(0) - ended;
      watch.isMeasured = true;
      if (watch.isWaitedFor && watch.room() > 0) {
        watch.isWaitedFor = false;
        hasRoom = true;
      }
    }
    return hasRoom;
  }

  /** By queue, as far as they are known. */
  Map<String, Long> known() {
    Map<String, Long> depths = new TreeMap<>();
    watches.forEach(
        (queue, watch) -> {
          if (watch.isMeasured && watch.isThere) {
            depths.put(queue, watch.depth());
          }
        });
    return depths;
  }
}
