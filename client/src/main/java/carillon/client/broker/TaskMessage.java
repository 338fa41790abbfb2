package carillon.client.broker;

import carillon.client.ClaimedTask;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** A message read from a broker: a task, or the reason why there is none. */
public sealed interface TaskMessage {

  /** A task. */
  record Valid(ClaimedTask task) implements TaskMessage {}

  /**
   * Not a message from Carillon, or a malformed one.
   *
   * @param why the reason, without content of the message
   */
  record Unusable(String why) implements TaskMessage {}

  /**
   * A task whose lease expired in the queue. Carillon publishes it again.
   *
   * @param why the reason
   */
  record Expired(String why) implements TaskMessage {}

  /** Reports to a hook why there is no task. Exceptions of the hook are logged. */
  default <M> void report(BiConsumer<M, String> hook, M message) {
    String why =
        this instanceof Expired expired
            ? expired.why()
            : this instanceof Unusable unusable ? unusable.why() : "";
    try {
      hook.accept(message, why);
    } catch (RuntimeException e) {
      System.getLogger(TaskMessage.class.getName())
          .log(System.Logger.Level.WARNING, "hook for skipped messages failed", e);
    }
  }

  /** Tolerated clock difference before a lease counts as expired. */
  Duration TOLERANCE = Duration.ofSeconds(5);

  /**
   * Reads a message.
   *
   * @param headers as text, by the names that Carillon uses
   * @param types the types that have a handler
   */
  static TaskMessage read(
      Map<String, String> headers, byte @Nullable [] body, Set<String> types, Instant now) {
    TaskMessage read = read(headers, body);
    if (!(read instanceof Valid valid)) {
      return read;
    }
    if (!types.contains(valid.task().type())) {
      return new Unusable("no handler for its type");
    }
    Instant leaseUntil = valid.task().leaseUntil();
    return leaseUntil != null && leaseUntil.plus(TOLERANCE).isBefore(now)
        ? new Expired("its lease expired at " + leaseUntil + "; Carillon publishes it again")
        : read;
  }

  private static TaskMessage read(Map<String, String> headers, byte @Nullable [] body) {
    String id = headers.get("Carillon-Task-Id");
    String type = headers.get("Carillon-Task-Type");
    if (id == null || type == null) {
      return new Unusable("no Carillon-Task-Id or Carillon-Task-Type header");
    }
    try {
      return new Valid(
          new ClaimedTask(
              UUID.fromString(id),
              type,
              headers.get("Carillon-Key"),
              Integer.parseInt(headers.getOrDefault("Carillon-Attempt", "")),
              Long.parseLong(headers.getOrDefault("Carillon-Fence", "")),
              Instant.parse(headers.getOrDefault("Carillon-Due-At", "")),
              payload(body),
              headers.get("Carillon-Token"),
              time(headers.get("Carillon-Lease-Until")),
              headers.get("Carillon-Schedule"),
              time(headers.get("Carillon-Fire-At"))));
    } catch (IllegalArgumentException | DateTimeException e) {
      return new Unusable("a header cannot be read");
    } catch (JacksonException e) {
      return new Unusable("the body is not JSON");
    }
  }

  private static JsonNode payload(byte @Nullable [] body) {
    return body == null || body.length == 0
        ? JsonNodeFactory.instance.nullNode()
        : ClaimedTask.readPayload(body);
  }

  private static @Nullable Instant time(@Nullable String text) {
    return text == null ? null : Instant.parse(text);
  }
}
