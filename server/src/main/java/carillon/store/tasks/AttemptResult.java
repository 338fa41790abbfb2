package carillon.store.tasks;

import carillon.model.task.FailureKind;
import org.jspecify.annotations.Nullable;

/**
 * The result of an attempt.
 *
 * @param failure why it failed; null if it did not
 * @param status the status code of the response
 * @param request the request that was sent, as JSON without secrets; null if none or unknown
 */
public record AttemptResult(
    @Nullable FailureKind failure,
    @Nullable Integer status,
    @Nullable String error,
    @Nullable String output,
    @Nullable String request) {

  static final AttemptResult NONE = new AttemptResult(null, null, null, null, null);
}
