package carillon.model.target;

import carillon.model.TaskId;
import java.util.HexFormat;

/**
 * What an attempt tells its target of the trace that it is part of, as W3C Trace Context has it.
 */
public final class TraceParent {

  public static final String HEADER = "traceparent";

  private TraceParent() {}

  /**
   * All attempts of a task are one trace, and each is a span of it. Both can be told from what is
   * known of the attempt, so that nothing has to be kept for it. Should a database have lost what
   * it had confirmed and count a fence again, two attempts are one span.
   */
  public static String of(TaskId id, int fence) {
    var hex = HexFormat.of();
    long high = id.value().getMostSignificantBits();
    long low = id.value().getLeastSignificantBits();
    // Never zero, which no span may be: the variant of an id stands in the first bits of low.
    long span = low + fence;
    return "00-"
        + hex.toHexDigits(high)
        + hex.toHexDigits(low)
        + "-"
        + hex.toHexDigits(span)
        + "-01";
  }
}
