package carillon.model.cron;

import java.time.Instant;
import java.util.List;

/** All nominal times of a schedule, in order. */
public interface Timetable {

  /** No schedule fires before this time. */
  Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");

  /** No schedule fires at or after this time. */
  Instant END = Instant.parse("+10000-01-01T00:00:00Z");

  /**
   * The nominal times at the first instant after this one; empty if there is none. At most one of
   * them fires: local times skipped by a DST gap are listed at the instant of the clock change.
   */
  List<NominalTime> next(Instant after);
}
