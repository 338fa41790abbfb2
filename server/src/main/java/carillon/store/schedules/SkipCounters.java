package carillon.store.schedules;

import carillon.model.schedule.SkipReason;
import carillon.store.db.Tx;
import java.util.Collection;
import java.util.Collections;

/** The counters of a schedule's skipped nominal times. */
final class SkipCounters {

  private SkipCounters() {}

  private static final String SUBTRACT =
      """
      /* SkipCounters.subtract */
      UPDATE carillon.schedule
      SET skipped_overlap = skipped_overlap - ?,
          skipped_paused = skipped_paused - ?,
          skipped_window = skipped_window - ?,
          skipped_dst_gap = skipped_dst_gap - ?,
          skipped_ended = skipped_ended - ?
      WHERE id = ?
      """;

  /** Subtracts one for each reason in the list; the caller holds the lock of the row. */
  static void subtract(Tx tx, long schedule, Collection<SkipReason> skipped) {
    if (skipped.isEmpty()) {
      return;
    }
    tx.update(
        SUBTRACT,
        Collections.frequency(skipped, SkipReason.OVERLAP),
        Collections.frequency(skipped, SkipReason.PAUSED),
        Collections.frequency(skipped, SkipReason.WINDOW),
        Collections.frequency(skipped, SkipReason.DST_GAP),
        Collections.frequency(skipped, SkipReason.ENDED),
        schedule);
  }
}
