package carillon.delivery.rabbitmq;

import carillon.model.task.ClaimedTask;
import java.util.concurrent.atomic.AtomicLong;

/** How much memory the messages take that have not ended. */
final class UnconfirmedBytes {

  /** What is claimed at once comes on top of it, and the heap is a few hundred. */
  static final long MOST = 32L << 20;

  /** Of a task without its payload, about. */
  private static final long EACH = 1 << 10;

  private final AtomicLong bytes = new AtomicLong();

  static long sizeOf(ClaimedTask task) {
    String payload = task.payload();
    return EACH + (payload == null ? 0 : Character.BYTES * (long) payload.length());
  }

  boolean isFull() {
    return bytes.get() >= MOST;
  }

  void add(long size) {
    bytes.addAndGet(size);
  }

  /** Whether there is room again where there was none. */
  boolean remove(long size) {
    long left = bytes.addAndGet(-size);
    return left < MOST && left + size >= MOST;
  }
}
