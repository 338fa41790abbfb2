package carillon.client.kafka;

import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Which records of one partition were fetched and have not ended, and up to where all have ended.
 * Used by the source's thread only.
 */
final class PartitionProgress {

  private final TreeSet<Long> open = new TreeSet<>();
  private int running;
  private long next = -1; // the offset after the last that was fetched
  private long committed = -1;

  /** A record was fetched; offsets only grow, but some may be missing. */
  void fetched(long offset) {
    open.add(offset);
    next = offset + 1;
  }

  /** A task of it was handed to the worker. */
  void started() {
    running++;
  }

  /** The worker is done with a task of it, whatever that means for the record. */
  void stopped() {
    running--;
  }

  /** A record needs not be fetched again. */
  void ended(long offset) {
    open.remove(offset);
  }

  /** The offset to commit, before which all have ended; null if it is no other than before. */
  @Nullable Long toCommit() {
    long all = open.isEmpty() ? next : open.first();
    return all == committed || all < 0 ? null : all;
  }

  void committed(long offset) {
    committed = offset;
  }

  /** Nobody knows what is committed: say it again. */
  void forgetCommit() {
    committed = -1;
  }

  boolean isRunning() {
    return running > 0;
  }
}
