package carillon.store.schedules;

import carillon.model.schedule.OverlapRule;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A backfill: tasks for past nominal times of a schedule.
 *
 * @param type of the tasks that the schedule creates now
 * @param times nominal times in its range when it was started
 * @param existing nominal times that had a task already
 * @param skipped nominal times inside a DST gap
 */
public record Backfill(
    UUID id,
    String schedule,
    String type,
    State state,
    Instant from,
    Instant to,
    OverlapRule overlap,
    int times,
    int created,
    int existing,
    int skipped,
    Instant createdAt,
    String createdBy,
    @Nullable Instant finishedAt) {

  public enum State {
    RUNNING,
    DONE,
    STOPPED
  }
}
