package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.task.TaskState;
import java.time.Instant;
import java.time.LocalDateTime;
import org.jspecify.annotations.Nullable;

/**
 * A fire of which nobody has noted yet how its task ended.
 *
 * @param isBackfilled made by a backfill: it stands in nobody's way
 * @param recordedAt when its task was made
 * @param state its task's state now; null if the task is no longer there
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
