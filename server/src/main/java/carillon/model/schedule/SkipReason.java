package carillon.model.schedule;

/** Why a nominal time of a schedule has no task. */
public enum SkipReason {
  /** A task of an earlier fire had not ended. */
  OVERLAP("overlap"),
  PAUSED("paused"),
  /** It was missed, and the schedule's catch-up rule does not include it. */
  WINDOW("window"),
  /** Its local time does not exist on that day. */
  DST_GAP("dstGap"),
  /** The schedule had ended. */
  ENDED("ended");

  private final String label;

  SkipReason(String label) {
    this.label = label;
  }

  /** The name in the API. */
  public String label() {
    return label;
  }
}
