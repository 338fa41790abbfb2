package carillon.store.deadletters;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A redrive, for showing.
 *
 * @param filter JSON, as it was asked for, but of the ids only how many they are
 * @param rate per second; null means as fast as it goes
 * @param matched when it was started
 * @param isAtLeast whether those were not counted to the end
 * @param refused dead letters that were met and could not be redriven
 * @param waiting of those redriven last, how many have not started yet; null where not asked for
 * @param groupError what the letters of the group died of, if it was of one that is still known;
 *     null where not asked for
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

  /** Where a redrive stands. */
  public enum State {
    RUNNING,
    DONE,
    STOPPED,
    /** Those that have not started are being taken back. */
    UNDOING,
    UNDONE;

    public boolean isOver() {
      return this != RUNNING && this != UNDOING;
    }
  }
}
