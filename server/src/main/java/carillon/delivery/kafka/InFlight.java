package carillon.delivery.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The bytes handed to Kafka's producer, by topic. No topic gets more than a quarter, so that a
 * topic that does not confirm cannot block the others.
 */
final class InFlight {

  private static final int SHARES = 4;

  private final long maxBytes;
  private final Map<String, Long> byTopic = new HashMap<>();
  private long total;

  InFlight(long maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** Reserves the bytes if they fit. The first message of a topic always fits. */
  synchronized boolean take(String topic, long bytes) {
    long held = byTopic.getOrDefault(topic, 0L);
    if (held > 0 && (held + bytes > maxBytes / SHARES || total + bytes > maxBytes)) {
      return false;
    }
    byTopic.put(topic, held + bytes);
    total += bytes;
    return true;
  }

  synchronized void release(String topic, long bytes) {
    total -= bytes;
    byTopic.computeIfPresent(topic, (_, held) -> held > bytes ? held - bytes : null);
    notifyAll();
  }

  /** Waits until bytes are released, at most this long. */
  synchronized void await(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.timedWait(this, Math.max(1, nanos));
  }
}
