package carillon.store.deadletters;

import carillon.model.task.FailureKind;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Dead letters of one type that died of the same thing.
 *
 * @param error of one of the newest
 * @param letters that are there now
 * @param deaths that there ever were
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

  /** Which groups; what is null does not matter. */
  public record Filter(
      @Nullable String type, @Nullable FailureKind failure, @Nullable Integer status) {}

  /** Where a page of groups ended. */
  public record Position(Instant lastAt, String type, String fingerprint) {}
}
