package carillon.chaos.rules;

import org.jspecify.annotations.Nullable;

/**
 * A fault from its start to its end, both in microseconds.
 *
 * @param node the node it hit; null for all nodes or the database
 */
record FaultPeriod(String kind, @Nullable String node, long from, long until) {

  boolean overlaps(long begin, long end, long aftermath) {
    return from <= end && (until == Long.MAX_VALUE || until + aftermath >= begin);
  }

  /** Whether the fault hit only this holder, whose id starts with the label of its node. */
  boolean hits(@Nullable String holder) {
    return node != null && holder != null && Facts.isOf(holder, node);
  }
}
