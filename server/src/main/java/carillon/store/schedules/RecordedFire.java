package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.SkipReason;
import java.time.Instant;
import java.time.LocalDateTime;
import org.jspecify.annotations.Nullable;

/**
 * The recorded decision about one nominal time: its task, or why it was skipped.
 *
 * @param status the state of its task, or how it ended if the task itself has been deleted
 */
public record RecordedFire(
    NominalTime time,
    Kind kind,
    @Nullable SkipReason skipped,
    @Nullable TaskId task,
    @Nullable String status,
    Instant recordedAt) {

  /** What caused it. */
  public enum Kind {
    SCHEDULED,
    TRIGGER,
    BACKFILL
  }

  /**
   * Selects fires; null fields match all.
   *
   * @param hasTask true for tasks, false for skipped times
   * @param from inclusive
   * @param to inclusive
   */
  public record Filter(@Nullable Boolean hasTask, @Nullable Instant from, @Nullable Instant to) {}

  /** Where the next page of a list continues. */
  public record Position(Instant at, LocalDateTime local) {

    /** After all fires. */
    static final Position END =
        new Position(
            Instant.parse("9999-12-31T23:59:59Z"), LocalDateTime.parse("9999-12-31T23:59:59"));
  }

  Position position() {
    return new Position(time.at(), time.local());
  }
}
