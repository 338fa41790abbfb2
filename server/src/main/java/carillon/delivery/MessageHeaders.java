package carillon.delivery;

import carillon.model.target.Target;
import carillon.model.target.TraceParent;
import carillon.model.task.ClaimToken;
import carillon.model.task.ClaimedTask;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.Map;

/** The headers of a broker message: those of HTTP deliveries, and CloudEvents. */
public final class MessageHeaders {

  private static final DateTimeFormatter MILLIS =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  private static final byte[] NO_BODY = {};

  private MessageHeaders() {}

  /** The payload as it is sent and signed. */
  public static byte[] body(ClaimedTask task) {
    String payload = task.payload();
    return payload == null ? NO_BODY : payload.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * The headers by name.
   *
   * @param body the result of {@link #body}
   */
  public static Map<String, String> of(ClaimedTask task, byte[] body, Instant now) {
    Map<String, String> headers = new LinkedHashMap<>();
    String id = task.id().toString();
    String due = millis(task.dueAt());
    headers.put("webhook-id", id);
    headers.put("webhook-timestamp", Long.toString(now.getEpochSecond()));
    if (!task.signingSecrets().isEmpty()) {
      headers.put(
          "webhook-signature", Signature.of(id, now.getEpochSecond(), body, task.signingSecrets()));
    }
    headers.put("Carillon-Task-Id", id);
    headers.put("Carillon-Task-Type", task.type());
    headers.put("Carillon-Attempt", Integer.toString(task.attempt()));
    headers.put("Carillon-Fence", Integer.toString(task.lease().fence()));
    headers.put("Carillon-Due-At", due);
    putOptional(headers, task);
    headers.put(TraceParent.HEADER, TraceParent.of(task.id(), task.lease().fence()));
    headers.put("content-type", "application/json");
    headers.put("ce_specversion", "1.0");
    headers.put("ce_id", id);
    headers.put("ce_type", task.type());
    headers.put("ce_source", "/carillon");
    headers.put("ce_time", due);
    return headers;
  }

  public static String millis(Instant time) {
    return MILLIS.format(time);
  }

  private static void putOptional(Map<String, String> headers, ClaimedTask task) {
    if (task.key() != null) {
      headers.put("Carillon-Key", task.key());
    }
    if (task.scheduleName() != null) {
      headers.put("Carillon-Schedule", task.scheduleName());
    }
    if (task.fireAt() != null) {
      headers.put("Carillon-Fire-At", millis(task.fireAt()));
    }
    if (task.target() instanceof Target.Broker to && to.complete() == Target.Complete.ON_REPORT) {
      headers.put("Carillon-Token", ClaimToken.of(task.lease()));
      if (task.leaseUntil() != null) {
        headers.put("Carillon-Lease-Until", millis(task.leaseUntil()));
      }
    }
  }
}
