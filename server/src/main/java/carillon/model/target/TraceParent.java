package carillon.model.target;

import carillon.model.TaskId;
import java.util.HexFormat;

/** The traceparent header of W3C Trace Context. */
public final class TraceParent {

  public static final String HEADER = "traceparent";

  private TraceParent() {}

  /**
   * The attempts of a task are the spans of one trace. Both ids are derived from the task id and
   * the fence, so that nothing has to be stored. If a database loses confirmed writes and issues a
   * fence twice, two attempts share a span.
   */
  public static String of(TaskId id, int fence) {
    var hex = HexFormat.of();
    long high = id.value().getMostSignificantBits();
    long low = id.value().getLeastSignificantBits();
    // Never zero, which would be invalid: the first bits of low are the UUID variant.
    long span = low + fence;
    return "00-"
        + hex.toHexDigits(high)
        + hex.toHexDigits(low)
        + "-"
        + hex.toHexDigits(span)
        + "-01";
  }
}
