package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.SkipReason;
import java.time.Instant;
import java.time.LocalDateTime;
import org.jspecify.annotations.Nullable;

/**
 * What became of one nominal time: its task, or why it has none.
 *
 * @param status where its task stands now; how it ended where the task itself is no longer kept
 */
public record RecordedFire(
    NominalTime time,
    Kind kind,
    @Nullable SkipReason skipped,
    @Nullable TaskId task,
    @Nullable String status,
    Instant recordedAt) {

  /** What made it. */
  public enum Kind {
    SCHEDULED,
    TRIGGER,
    BACKFILL
  }

  /**
   * Which fires; what is null does not matter.
   *
   * @param hasTask whether it became a task or was skipped
   * @param from the earliest
   * @param to the latest
   */
  public record Filter(@Nullable Boolean hasTask, @Nullable Instant from, @Nullable Instant to) {}

  /** Where a list of them goes on. */
  public record Moment(Instant at, LocalDateTime local) {

    /** After all there can be. */
    static final Moment END =
        new Moment(
            Instant.parse("9999-12-31T23:59:59Z"), LocalDateTime.parse("9999-12-31T23:59:59"));
  }

  Moment moment() {
    return new Moment(time.at(), time.local());
  }
}
