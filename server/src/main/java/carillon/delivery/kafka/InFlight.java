package carillon.delivery.kafka;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The bytes that Kafka's producer has, by topic. No topic gets more than a quarter, so that one
 * that is not confirmed does not hold up the others.
 */
final class InFlight {

  private static final int SHARES = 4;

  private final long most;
  private final Map<String, Long> byTopic = new HashMap<>();
  private long total;

  InFlight(long most) {
    this.most = most;
  }

  /** Counts the bytes if they may go now. One message of a topic always may. */
  synchronized boolean take(String topic, long bytes) {
    long taken = byTopic.getOrDefault(topic, 0L);
    if (taken > 0 && (taken + bytes > most / SHARES || total + bytes > most)) {
      return false;
    }
    byTopic.put(topic, taken + bytes);
    total += bytes;
    return true;
  }

  synchronized void giveBack(String topic, long bytes) {
    total -= bytes;
    byTopic.computeIfPresent(topic, (_, taken) -> taken > bytes ? taken - bytes : null);
    notifyAll();
  }

  /** Waits for some bytes to be given back, at most this long. */
  synchronized void await(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.timedWait(this, Math.max(1, nanos));
  }
}
