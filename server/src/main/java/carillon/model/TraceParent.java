package carillon.model;

import java.util.HexFormat;

/**
 * What an attempt tells its target of the trace that it is part of, as W3C Trace Context has it.
 */
public final class TraceParent {

  public static final String HEADER = "traceparent";

  private TraceParent() {}

  /**
   * All attempts of a task are one trace, and each is a span of it. Both can be told from what is
   * known of the attempt, so that nothing has to be kept for it.
   */
  public static String of(TaskId id, int fence) {
    var hex = HexFormat.of();
    long trace = id.value().getMostSignificantBits();
    long rest = id.value().getLeastSignificantBits(); // begins with the variant, so is never small
    return "00-"
        + hex.toHexDigits(trace)
        + hex.toHexDigits(rest)
        + "-"
        + hex.toHexDigits(rest + fence)
        + "-01";
  }
}
