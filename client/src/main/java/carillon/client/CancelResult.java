package carillon.client;

/** What became of the wish to cancel a task. */
public enum CancelResult {
  /** It is cancelled, now or earlier: no attempt starts any more. */
  CANCELLED,
  /** It is running: no further attempt starts, and its worker is told. */
  REQUESTED,
  /** It had ended otherwise. */
  ENDED,
  /** There is no such task. */
  NOT_FOUND
}
