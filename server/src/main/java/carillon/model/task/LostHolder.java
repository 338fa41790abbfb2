package carillon.model.task;

/**
 * How an attempt lost its holder.
 *
 * @param begun whether the attempt may have started; a suspect still waiting for its turn had not
 * @param blamed whether the task may have caused the death of its node
 */
public record LostHolder(Holder holder, boolean begun, boolean blamed) {

  /** The state of the holder. */
  public enum Holder {
    /** A worker that neither reported nor renewed, or a node that does not know of the claim. */
    SILENT,
    /** A node that was stopped before it could write the outcome. */
    LEFT,
    /** A running node that could not reach the database for longer than its lease. */
    CUT_OFF,
    /** A node that stopped sending heartbeats. */
    DIED
  }

  public static final LostHolder UNEXPLAINED = new LostHolder(Holder.SILENT, true, false);
}
