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

/** What a message that Carillon published says: the task in it, or why there is none. */
public sealed interface TaskMessage {

  /** A task of ours. */
  record Of(ClaimedTask task) implements TaskMessage {}

  /**
   * Not a message of Carillon's, or a broken one.
   *
   * @param why in a few words, without what the message says
   */
  record Unusable(String why) implements TaskMessage {}

  /**
   * A task whose lease is over: it lay in the queue for too long, and Carillon publishes it again.
   *
   * @param why the same in a few words
   */
  record Expired(String why) implements TaskMessage {}

  /** Tells a hook why there is no task; what it throws is logged, and not the worker's trouble. */
  default <M> void report(BiConsumer<M, String> hook, M message) {
    String why =
        this instanceof Expired late ? late.why() : this instanceof Unusable of ? of.why() : "";
    try {
      hook.accept(message, why);
    } catch (RuntimeException e) {
      System.getLogger(TaskMessage.class.getName())
          .log(System.Logger.Level.WARNING, "the hook for strange messages failed", e);
    }
  }

  /** How much a clock may be wrong before tasks are taken for late that are not. */
  Duration TOLERANCE = Duration.ofSeconds(5);

  /**
   * Reads a message for a worker.
   *
   * @param headers as text, by their names as Carillon writes them
   * @param types those that the worker has a handler for
   */
  static TaskMessage read(
      Map<String, String> headers, byte @Nullable [] body, Set<String> types, Instant now) {
    TaskMessage read = read(headers, body);
    if (!(read instanceof Of of)) {
      return read;
    }
    if (!types.contains(of.task().type())) {
      return new Unusable("its type has no handler here");
    }
    Instant leaseUntil = of.task().leaseUntil();
    return leaseUntil != null && leaseUntil.plus(TOLERANCE).isBefore(now)
        ? new Expired("its lease ended at " + leaseUntil + ", so that Carillon publishes it again")
        : read;
  }

  private static TaskMessage read(Map<String, String> headers, byte @Nullable [] body) {
    String id = headers.get("Carillon-Task-Id");
    String type = headers.get("Carillon-Task-Type");
    if (id == null || type == null) {
      return new Unusable("it has no Carillon-Task-Id or no Carillon-Task-Type");
    }
    try {
      return new Of(
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
      return new Unusable("a header of it cannot be read");
    } catch (JacksonException e) {
      return new Unusable("its body is not JSON");
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
