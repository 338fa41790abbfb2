package carillon.model.task;

/**
 * How an attempt lost its holder.
 *
 * @param begun whether it may have been started; a suspect that waited for its turn was not
 * @param blamed whether it may be what its node died of
 */
public record LostHolder(Holder holder, boolean begun, boolean blamed) {

  /** Who held it. */
  public enum Holder {
    /** A worker that neither reported nor renewed, or a node that does not know of the claim. */
    SILENT,
    /** A node that was stopped, but could not write down what became of it. */
    LEFT,
    /** A node that lives, but was cut off from the database for longer than its lease. */
    CUT_OFF,
    /** A node of which nothing was heard any more. */
    DIED
  }

  public static final LostHolder UNEXPLAINED = new LostHolder(Holder.SILENT, true, false);
}
