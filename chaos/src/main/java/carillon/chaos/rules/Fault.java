package carillon.chaos.rules;

import org.jspecify.annotations.Nullable;

/**
 * A disturbance, from its start until its end, both in microseconds.
 *
 * @param node whom it concerns; null if everybody
 */
record Fault(String kind, @Nullable String node, long from, long until) {

  boolean overlaps(long begin, long end, long aftermath) {
    return from <= end && (until == Long.MAX_VALUE || until + aftermath >= begin);
  }

  /** Whether it was done to this holder alone, an id that a node made from its label. */
  boolean hits(@Nullable String holder) {
    return node != null && holder != null && Facts.isOf(holder, node);
  }
}
