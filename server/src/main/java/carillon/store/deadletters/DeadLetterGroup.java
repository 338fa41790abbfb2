package carillon.store.deadletters;

import carillon.model.task.FailureKind;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Dead letters of one type with the same error.
 *
 * @param error of one of the newest letters
 * @param letters how many there are now
 * @param deaths how many there have ever been
 */
public record DeadLetterGroup(
    String type,
    String fingerprint,
    @Nullable FailureKind failure,
    @Nullable Integer status,
    @Nullable String error,
    long letters,
    long deaths,
    Instant firstAt,
    Instant lastAt) {

  /** Selects groups. A field that is null selects all. */
  public record Filter(
      @Nullable String type, @Nullable FailureKind failure, @Nullable Integer status) {}

  /** Where a page of groups ended. */
  public record Position(Instant lastAt, String type, String fingerprint) {}
}
