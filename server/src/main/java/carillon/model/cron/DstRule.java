package carillon.model.cron;

/** What a schedule does where the clocks of its zone change. */
public record DstRule(Gap gap, Overlap overlap) {

  public static final DstRule DEFAULT = new DstRule(Gap.SHIFT, Overlap.FIRST);

  /** With local times that do not exist. */
  public enum Gap {
    SKIP,
    /** Fires when the gap ends. */
    SHIFT
  }

  /** With local times that happen twice. */
  public enum Overlap {
    FIRST,
    LAST,
    BOTH
  }
}
