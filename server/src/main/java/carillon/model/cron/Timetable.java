package carillon.model.cron;

import java.time.Instant;
import java.util.List;

/** All nominal times of a schedule, in order. */
public interface Timetable {

  /** No schedule fires before this. */
  Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");

  /** No schedule fires from here on. */
  Instant END = Instant.parse("+10000-01-01T00:00:00Z");

  /**
   * The nominal times of the earliest instant after this one; empty if there are none. At most one
   * of them fires: what a change of the clocks skipped is listed at the instant of the change.
   */
  List<NominalTime> next(Instant after);
}
