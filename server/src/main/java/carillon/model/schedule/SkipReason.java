package carillon.model.schedule;

/** Why a nominal time of a schedule has no task. */
public enum SkipReason {
  /** A task of an earlier fire had not ended. */
  OVERLAP("overlap"),
  PAUSED("paused"),
  /** It was missed, and the schedule's catch-up rule does not make up for it. */
  WINDOW("window"),
  /** Its local time does not exist that day. */
  DST_GAP("dstGap"),
  /** The schedule had come to its end. */
  ENDED("ended");

  private final String label;

  SkipReason(String label) {
    this.label = label;
  }

  /** As everybody outside is told. */
  public String label() {
    return label;
  }
}
