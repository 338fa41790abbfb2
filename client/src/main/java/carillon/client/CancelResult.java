package carillon.client;

/** Result of a cancel request. */
public enum CancelResult {
  /** The task is cancelled, by this call or an earlier one. No further attempt starts. */
  CANCELLED,
  /** The task is running. No further attempt starts, and its worker is notified. */
  REQUESTED,
  /** The task had already finished. */
  ENDED,
  /** The task does not exist. */
  NOT_FOUND
}
