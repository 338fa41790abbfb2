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
 * The depths of the queues that limit a target: what the broker counted last, plus what was
 * published since.
 */
final class QueueDepths {

  private static final long FORGET_AFTER = Duration.ofMinutes(1).toNanos();

  /** Reads the number of messages in a queue; empty if there is no such queue. */
  interface Count {
    OptionalLong of(String queue) throws IOException;
  }

  /** The depth of one queue. */
  static final class Depth {
    private final AtomicLong begun = new AtomicLong();
    private final AtomicLong ended = new AtomicLong();
    private volatile boolean isMeasured;
    private volatile boolean exists;
    private volatile long base; // its messages, less those of ours that had ended when we asked
    private volatile long max;
    private volatile long usedAt = System.nanoTime();
    private volatile boolean isWaitedFor;

    void ended() {
      ended.incrementAndGet();
    }

    private long remainingCapacity() {
      if (!isMeasured) {
        return 0;
      }
      return exists ? Math.max(0, max - messages()) : Integer.MAX_VALUE;
    }

    private long messages() {
      return base + begun.get();
    }
  }

  private final Map<String, Depth> depths = new ConcurrentHashMap<>();

  /** How many more messages the queue accepts: 0 until it is counted for the first time. */
  int remainingCapacity(Target.DepthLimit limit) {
    Depth depth = depths.computeIfAbsent(limit.of(), _ -> new Depth());
    depth.max = limit.max();
    depth.usedAt = System.nanoTime();
    long capacity = depth.remainingCapacity();
    if (capacity == 0) {
      depth.isWaitedFor = true;
    }
    return (int) Math.min(Integer.MAX_VALUE, capacity);
  }

  /** Whether a queue has not been counted yet. */
  boolean hasUnmeasured() {
    return depths.values().stream().anyMatch(depth -> !depth.isMeasured);
  }

  /** Counts a message that is about to be published; null without a depth limit. */
  @Nullable Depth begin(Target.RabbitMq target) {
    Target.DepthLimit limit = target.depth();
    Depth depth = limit == null ? null : depths.get(limit.of());
    if (depth != null) {
      depth.begun.incrementAndGet();
    }
    return depth;
  }

  /** Counts every queue in use; returns whether one that was full has capacity again. */
  boolean measure(Count count) throws IOException {
    long now = System.nanoTime();
    depths.values().removeIf(depth -> now - depth.usedAt > FORGET_AFTER);
    boolean hasCapacity = false;
    for (Map.Entry<String, Depth> entry : depths.entrySet()) {
      Depth depth = entry.getValue();
      // Read before the broker counts: messages confirmed meanwhile count twice, never zero times.
      long ended = depth.ended.get();
      OptionalLong messages = count.of(entry.getKey());
      depth.exists = messages.isPresent();
      depth.base = messages.orElse(0) - ended;
      depth.isMeasured = true;
      if (depth.isWaitedFor && depth.remainingCapacity() > 0) {
        depth.isWaitedFor = false;
        hasCapacity = true;
      }
    }
    return hasCapacity;
  }

  /** The last known depths, by queue. */
  Map<String, Long> known() {
    Map<String, Long> known = new TreeMap<>();
    depths.forEach(
        (queue, depth) -> {
          if (depth.isMeasured && depth.exists) {
            known.put(queue, depth.messages());
          }
        });
    return known;
  }
}
