package carillon.store.deadletters;

import carillon.model.TaskId;
import carillon.model.task.FailureKind;
import carillon.model.task.TaskState;
import carillon.store.db.Json;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/**
 * A dead task with everything that a restore needs; one line of an archive.
 *
 * @param tenant its name, because ids differ between installations
 * @param payload the tenant's JSON byte for byte
 * @param target JSON, like retry, metadata, onComplete and onDead; null if the task has none of its
 *     own
 * @param last the result of the last attempt
 * @param attempts before the last one, oldest first
 */
public record ArchivedTask(
    String tenant,
    TaskId id,
    String type,
    int priority,
    int slice,
    @Nullable String key,
    Instant dueAt,
    Instant createdAt,
    @Nullable Instant startedAt,
    @Nullable Instant finishedAt,
    @Nullable Instant expiresAt,
    int attempt,
    int fence,
    int version,
    @Nullable Integer crashes,
    boolean cancelRequested,
    @Nullable String leasedBy,
    @Nullable String payload,
    @Nullable String target,
    @Nullable String retry,
    @Nullable String metadata,
    @Nullable String onComplete,
    @Nullable String onDead,
    @Nullable String concurrencyKey,
    @Nullable String scheduleName,
    @Nullable Instant fireAt,
    @Nullable String progress,
    Result last,
    List<Attempt> attempts,
    List<Transition> transitions) {

  /** To be raised when a reader of the previous format could misunderstand a line. */
  public static final int FORMAT = 1;

  /** Attempts, and transitions, that are archived per task: the newest. */
  public static final int MAX_HISTORY = 1_000;

  public ArchivedTask {
    attempts = List.copyOf(attempts);
    transitions = List.copyOf(transitions);
  }

  public record Result(
      @Nullable FailureKind failure,
      @Nullable Integer status,
      @Nullable String error,
      @Nullable String output,
      @Nullable String request) {}

  /** An attempt before the last one. */
  public record Attempt(
      int attempt,
      int fence,
      @Nullable String by,
      @Nullable Instant startedAt,
      Instant endedAt,
      String outcome,
      Result result) {

    Attempt withoutOutput() {
      Result less =
          new Result(result.failure(), result.status(), result.error(), null, result.request());
      return new Attempt(attempt, fence, by, startedAt, endedAt, outcome, less);
    }
  }

  public record Transition(
      Instant at, TaskState from, TaskState to, int fence, String by, @Nullable String reason) {}

  ArchivedTask with(@Nullable String target, @Nullable String onComplete, @Nullable String onDead) {
    return new ArchivedTask(
        tenant,
        id,
        type,
        priority,
        slice,
        key,
        dueAt,
        createdAt,
        startedAt,
        finishedAt,
        expiresAt,
        attempt,
        fence,
        version,
        crashes,
        cancelRequested,
        leasedBy,
        payload,
        target,
        retry,
        metadata,
        onComplete,
        onDead,
        concurrencyKey,
        scheduleName,
        fireAt,
        progress,
        last,
        attempts,
        transitions);
  }

  ArchivedTask with(List<Attempt> attempts, List<Transition> transitions) {
    return new ArchivedTask(
        tenant,
        id,
        type,
        priority,
        slice,
        key,
        dueAt,
        createdAt,
        startedAt,
        finishedAt,
        expiresAt,
        attempt,
        fence,
        version,
        crashes,
        cancelRequested,
        leasedBy,
        payload,
        target,
        retry,
        metadata,
        onComplete,
        onDead,
        concurrencyKey,
        scheduleName,
        fireAt,
        progress,
        last,
        attempts,
        transitions);
  }

  /**
   * One line of JSON with the field names of the API, without the secrets of targets, because files
   * are copied. Nulls are left out, so that a payload of JSON null differs from no payload.
   */
  public String line() {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("format", FORMAT);
    node.put("tenant", tenant); // early, because the command line sorts lines by it
    node.put("id", id.toString());
    node.put("type", type);
    put(node, "key", key);
    node.put("status", TaskState.DEAD.name());
    node.put("priority", priority);
    node.put("slice", slice);
    put(node, "dueAt", dueAt);
    put(node, "createdAt", createdAt);
    put(node, "startedAt", startedAt);
    put(node, "finishedAt", finishedAt);
    put(node, "expiresAt", expiresAt);
    node.put("attempt", attempt);
    node.put("fence", fence);
    node.put("version", version);
    put(node, "crashes", crashes);
    node.put("cancelRequested", cancelRequested);
    put(node, "leasedBy", leasedBy);
    putShown(node, "target", target);
    putRaw(node, "retry", retry);
    putRaw(node, "metadata", metadata);
    putShown(node, "onComplete", onComplete);
    putShown(node, "onDead", onDead);
    put(node, "concurrencyKey", concurrencyKey);
    put(node, "scheduleName", scheduleName);
    put(node, "fireAt", fireAt);
    put(node, "progress", progress);
    put(node, last);
    if (payload != null && hasLineBreak(payload)) {
      node.put("payloadText", payload);
    } else {
      putRaw(node, "payload", payload);
    }
    for (Attempt each : attempts) {
      ObjectNode one = node.withArray("attempts").addObject();
      one.put("attempt", each.attempt());
      one.put("fence", each.fence());
      put(one, "by", each.by());
      put(one, "startedAt", each.startedAt());
      put(one, "endedAt", each.endedAt());
      one.put("outcome", each.outcome());
      put(one, each.result());
    }
    for (Transition each : transitions) {
      ObjectNode one = node.withArray("transitions").addObject();
      put(one, "at", each.at());
      one.put("from", each.from().name());
      one.put("to", each.to().name());
      one.put("fence", each.fence());
      one.put("by", each.by());
      put(one, "reason", each.reason());
    }
    return Json.MAPPER.writeValueAsString(node);
  }

  /** JSON may have line breaks between its tokens; a line may not. */
  private static boolean hasLineBreak(String json) {
    return json.indexOf('\n') >= 0 || json.indexOf('\r') >= 0;
  }

  private static void put(ObjectNode node, Result result) {
    if (result.failure() != null || result.status() != null || result.error() != null) {
      ObjectNode error = node.putObject("error");
      if (result.failure() != null) {
        error.put("kind", result.failure().label());
      }
      put(error, "message", result.error());
      put(error, "status", result.status());
    }
    put(node, "output", result.output());
    put(node, "request", result.request());
  }

  private static void put(ObjectNode node, String name, @Nullable String value) {
    if (value != null) {
      node.put(name, value);
    }
  }

  private static void put(ObjectNode node, String name, @Nullable Integer value) {
    if (value != null) {
      node.put(name, value);
    }
  }

  /** To the microsecond, as the database stores it. */
  private static void put(ObjectNode node, String name, @Nullable Instant value) {
    if (value != null) {
      node.put(name, value.toString());
    }
  }

  private static void putShown(ObjectNode node, String name, @Nullable String target) {
    if (target != null) {
      node.set(name, Json.shown(Json.target(target)));
    }
  }

  private static void putRaw(ObjectNode node, String name, @Nullable String json) {
    if (json != null) {
      node.putRawValue(name, new RawValue(json));
    }
  }
}
