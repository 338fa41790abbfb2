package carillon.delivery.rabbitmq;

import carillon.model.task.ClaimedTask;
import java.util.concurrent.atomic.AtomicLong;

/** The memory that unconfirmed messages use. */
final class UnconfirmedBytes {

  /** The tasks of one claim come on top of it, in a heap of a few hundred MB. */
  static final long MAX = 32L << 20;

  /** The approximate size of a task without its payload. */
  private static final long OVERHEAD = 1 << 10;

  private final AtomicLong bytes = new AtomicLong();

  static long sizeOf(ClaimedTask task) {
    String payload = task.payload();
    return OVERHEAD + (payload == null ? 0 : Character.BYTES * (long) payload.length());
  }

  boolean isFull() {
    return bytes.get() >= MAX;
  }

  void add(long size) {
    bytes.addAndGet(size);
  }

  /** Returns whether this ended a state of being full. */
  boolean remove(long size) {
    long left = bytes.addAndGet(-size);
    return left < MAX && left + size >= MAX;
  }
}
