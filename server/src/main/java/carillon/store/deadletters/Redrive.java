package carillon.store.deadletters;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A bulk redrive of dead letters.
 *
 * @param filter JSON as requested, but with the number of ids instead of the ids
 * @param rate tasks per second; null means unlimited
 * @param matched letters that matched when it started
 * @param isAtLeast whether more may have matched: the count reached its timeout
 * @param refused dead letters that were skipped because their task was no longer dead
 * @param waiting of the tasks redriven last, how many have not started yet; null unless requested
 * @param groupError the error of the filter's group, if that group still exists; null unless
 *     requested
 */
public record Redrive(
    UUID id,
    State state,
    String filter,
    @Nullable Integer rate,
    String who,
    Instant createdAt,
    @Nullable Instant endedAt,
    long matched,
    boolean isAtLeast,
    long redriven,
    long refused,
    long undone,
    @Nullable Integer waiting,
    @Nullable String groupError) {

  public enum State {
    RUNNING,
    DONE,
    STOPPED,
    /** Its tasks that have not started are becoming dead again. */
    UNDOING,
    UNDONE;

    public boolean isOver() {
      return this != RUNNING && this != UNDOING;
    }
  }
}
