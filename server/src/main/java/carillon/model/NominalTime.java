package carillon.model;

import java.time.Instant;
import java.time.LocalDateTime;

/**
 * A time at which a schedule fires by its rule.
 *
 * @param local what the rule asked for, as clocks in the schedule's zone show it; in a gap they
 *     never do
 */
public record NominalTime(Instant at, LocalDateTime local, Shift shift) {

  /** What a change of the clocks does to it. */
  public enum Shift {
    NONE,
    /** Its local time does not exist that day, and it does not fire. */
    GAP_SKIPPED,
    /** Its local time does not exist that day, and it fires when the gap ends. */
    GAP_SHIFTED,
    /** Its local time happens twice that day; this is the first of them. */
    FIRST_OF_TWO,
    SECOND_OF_TWO
  }

  public boolean fires() {
    return shift != Shift.GAP_SKIPPED;
  }
}
