package carillon.client.kafka;

import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Tracks which fetched records of one partition have ended, to find the offset to commit. Confined
 * to the source's thread.
 */
final class PartitionProgress {

  private final TreeSet<Long> open = new TreeSet<>();
  private int running;
  private long next = -1; // the offset after the last fetched record
  private long committed = -1;

  /** Adds a fetched record. Offsets increase but may have gaps. */
  void fetched(long offset) {
    open.add(offset);
    next = offset + 1;
  }

  /** A task was delivered to the worker. */
  void started() {
    running++;
  }

  /** The worker no longer runs a task. */
  void stopped() {
    running--;
  }

  /** A record need not be fetched again. */
  void ended(long offset) {
    open.remove(offset);
  }

  /** The offset before which all records have ended; null if unchanged. */
  @Nullable Long toCommit() {
    long all = open.isEmpty() ? next : open.first();
    return all == committed || all < 0 ? null : all;
  }

  void committed(long offset) {
    committed = offset;
  }

  /** Commits again, because the last commit may have failed. */
  void forgetCommit() {
    committed = -1;
  }

  boolean isRunning() {
    return running > 0;
  }
}
