package carillon.model.cron;

/** What a schedule does when the clocks of its zone change. */
public record DstRule(Gap gap, Overlap overlap) {

  public static final DstRule DEFAULT = new DstRule(Gap.SHIFT, Overlap.FIRST);

  /** For local times that do not exist. */
  public enum Gap {
    SKIP,
    /** Fires when the gap ends. */
    SHIFT
  }

  /** For local times that happen twice. */
  public enum Overlap {
    FIRST,
    LAST,
    BOTH
  }
}
