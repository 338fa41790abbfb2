package carillon.store.schedules;

import carillon.model.schedule.OverlapRule;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A backfill, for showing.
 *
 * @param type of the tasks that its schedule makes now
 * @param times nominal times that there were in its range when it was started
 * @param existing those that had a task already
 * @param skipped those that do not exist because of a change of the clocks
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
    int made,
    int existing,
    int skipped,
    Instant createdAt,
    String createdBy,
    @Nullable Instant finishedAt) {

  /** Where a backfill stands. */
  public enum State {
    RUNNING,
    DONE,
    STOPPED
  }
}
