package carillon.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** The result of an attempt as a worker reports it. */
record Report(
    WorkerListener.Result result,
    @Nullable JsonNode output,
    @Nullable String error,
    @Nullable Duration retryAfter) {

  private static final Duration MAX_WAIT = Duration.ofHours(24);

  static Report completed(JsonMapper mapper, @Nullable Object output) {
    try {
      JsonNode json = output == null ? null : mapper.valueToTree(output);
      return new Report(WorkerListener.Result.COMPLETED, json, null, null);
    } catch (JacksonException e) {
      return dead("the output of the handler cannot be written as JSON: " + e.getOriginalMessage());
    }
  }

  static Report dead(String error) {
    return new Report(WorkerListener.Result.DEAD, null, Texts.clean(error), null);
  }

  static Report failed(String error) {
    return new Report(WorkerListener.Result.FAILED, null, Texts.clean(error), null);
  }

  static Report released(String why) {
    return new Report(WorkerListener.Result.RELEASED, null, why, null);
  }

  /** The report for an exception of a handler. */
  static Report thrown(Throwable what) {
    if (what instanceof ReleasedTask) {
      return released(Texts.message(what));
    }
    if (what instanceof DeadTask) {
      return dead(Texts.message(what));
    }
    if (what instanceof RetryLater later) {
      Duration after = later.after().isNegative() ? Duration.ZERO : later.after();
      return new Report(
          WorkerListener.Result.FAILED,
          null,
          Texts.message(what),
          after.compareTo(MAX_WAIT) > 0 ? MAX_WAIT : after);
    }
    return failed(Texts.of(what));
  }

  ObjectNode json(ClaimedTask task, @Nullable String progress) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    json.put("id", task.id().toString());
    json.put("token", task.token());
    json.put("outcome", outcome());
    if (output != null) {
      json.set("output", output);
    }
    if (error != null) {
      json.put("error", error);
    }
    if (retryAfter != null) {
      json.put("retryAfter", retryAfter.toString());
    }
    if (progress != null) {
      json.put("progress", progress);
    }
    return json;
  }

  private String outcome() {
    return switch (result) {
      case COMPLETED -> "completed";
      case FAILED -> "failed";
      case DEAD -> "dead";
      case RELEASED -> "released";
      case STALE -> throw new IllegalStateException("a stale attempt is not reported");
    };
  }

  /** The result for the source if the task has no token. */
  TaskSource.Ending unreported() {
    return switch (result) {
      case COMPLETED -> TaskSource.Ending.DONE;
      case RELEASED -> TaskSource.Ending.RELEASED;
      case FAILED, DEAD -> TaskSource.Ending.FAILED;
      case STALE -> TaskSource.Ending.STALE;
    };
  }
}
