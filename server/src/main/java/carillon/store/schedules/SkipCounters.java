package carillon.store.schedules;

import carillon.model.schedule.SkipReason;
import carillon.store.db.Tx;
import java.util.Collection;
import java.util.Collections;

/** How many nominal times a schedule has skipped. */
final class SkipCounters {

  private SkipCounters() {}

  private static final String TAKE_BACK =
      """
      /* SkipCounters.takeBack */
      UPDATE carillon.schedule
      SET skipped_overlap = skipped_overlap - ?,
          skipped_paused = skipped_paused - ?,
          skipped_window = skipped_window - ?,
          skipped_dst_gap = skipped_dst_gap - ?,
          skipped_ended = skipped_ended - ?
      WHERE id = ?
      """;

  /** These are no longer skipped, one for each reason that is there; the row is locked. */
  static void takeBack(Tx tx, long schedule, Collection<SkipReason> skipped) {
    if (skipped.isEmpty()) {
      return;
    }
    tx.update(
        TAKE_BACK,
        Collections.frequency(skipped, SkipReason.OVERLAP),
        Collections.frequency(skipped, SkipReason.PAUSED),
        Collections.frequency(skipped, SkipReason.WINDOW),
        Collections.frequency(skipped, SkipReason.DST_GAP),
        Collections.frequency(skipped, SkipReason.ENDED),
        schedule);
  }
}
