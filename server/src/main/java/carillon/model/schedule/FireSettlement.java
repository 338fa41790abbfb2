package carillon.model.schedule;

import carillon.model.task.TaskState;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How the tasks of a schedule's unsettled fires have ended.
 *
 * @param live the fires whose tasks have not ended, oldest first
 * @param failuresInARow including these fires
 * @param pauseReason why the schedule has to be paused; null if it has not
 */
public record FireSettlement(
    List<Settled> settled,
    List<UnsettledFire> live,
    int completed,
    int failed,
    int cancelled,
    int failuresInARow,
    @Nullable String pauseReason) {

  /** How the task of a fire ended. */
  public enum End {
    COMPLETED,
    DEAD,
    CANCELLED,
    EXPIRED,
    /** The task was deleted before its end was recorded. */
    GONE
  }

  /** A fire, and how its task ended. */
  public record Settled(UnsettledFire fire, End end) {}

  public FireSettlement {
    settled = List.copyOf(settled);
    live = List.copyOf(live);
  }

  /**
   * Evaluates the fires, oldest first.
   *
   * @param failuresInARow before these fires
   */
  public static FireSettlement of(List<UnsettledFire> open, int failuresInARow, Schedule schedule) {
    List<Settled> settled = new ArrayList<>();
    List<UnsettledFire> live = new ArrayList<>();
    int completed = 0;
    int failed = 0;
    int cancelled = 0;
    int inARow = failuresInARow;
    String pauseReason = null;
    for (UnsettledFire fire : open) {
      if (fire.isLive()) {
        live.add(fire);
        continue;
      }
      End end = end(fire.state());
      settled.add(new Settled(fire, end));
      switch (end) {
        case COMPLETED -> {
          completed++;
          inARow = 0;
        }
        case DEAD, EXPIRED -> {
          failed++;
          inARow++;
        }
        case CANCELLED -> cancelled++;
        case GONE -> {}
      }
      if (schedule.pauseAfterFailures() != null && inARow >= schedule.pauseAfterFailures()) {
        pauseReason = inARow + " tasks in a row failed; the last is " + fire.task();
        inARow = 0; // counting restarts when the schedule is resumed
      }
    }
    return new FireSettlement(settled, live, completed, failed, cancelled, inARow, pauseReason);
  }

  private static End end(@Nullable TaskState state) {
    return switch (state) {
      case COMPLETED -> End.COMPLETED;
      case DEAD -> End.DEAD;
      case CANCELLED -> End.CANCELLED;
      case EXPIRED -> End.EXPIRED;
      case null -> End.GONE;
      case PENDING, RUNNING -> throw new IllegalArgumentException("has not ended: " + state);
    };
  }
}
