package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.task.TaskState;
import java.time.Instant;
import java.time.LocalDateTime;
import org.jspecify.annotations.Nullable;

/**
 * A fire whose task's end is not recorded yet.
 *
 * @param isBackfilled created by a backfill: it never counts as overlapping
 * @param recordedAt when its task was created
 * @param state how its task ended; PENDING if the task waits or runs, null if it was deleted
 */
public record UnsettledFire(
    Instant at,
    LocalDateTime local,
    boolean isBackfilled,
    Instant recordedAt,
    TaskId task,
    @Nullable TaskState state) {

  public boolean isLive() {
    return state != null && state.isLive();
  }
}
