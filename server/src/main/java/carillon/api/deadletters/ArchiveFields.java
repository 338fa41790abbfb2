package carillon.api.deadletters;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Caller;
import carillon.api.json.Fields;
import carillon.api.json.JsonText;
import carillon.api.json.JsonValue;
import carillon.api.targets.RetryFields;
import carillon.api.targets.TargetFields;
import carillon.model.Echo;
import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.RetryPolicy;
import carillon.model.task.Route;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.store.deadletters.ArchivedTask;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of an archive. People edit such files, so a line is validated like any request:
 * what passes cannot harm existing tasks.
 */
public final class ArchiveFields {

  /** No task is older, and every partition is three tables. */
  private static final Partition FIRST_PARTITION = new Partition(LocalDate.of(2020, 1, 1));

  /** Far more than any task has, and far from where the next claim would overflow. */
  private static final int MAX_NUMBER = 1_000_000_000;

  private static final int MAX_CRASHES = 1_000;
  private static final int MAX_STATUS = 999;
  private static final int MAX_SLICE = 63;
  private static final int MAX_NAME_CHARS = 500;
  private static final int MAX_ERROR_CHARS = 64 << 10;

  /** The restore finds or creates the lane. */
  private static final int NO_LANE = 0;

  /** The maximum number of attempts follows from the retry policy. */
  private static final int NOT_STORED = 0;

  private static final Set<String> OUTCOMES =
      Set.of("COMPLETED", "RETRIED", "RELEASED", "DEAD", "CANCELLED");

  private final TargetFields targets;
  private final InstantSource clock;

  public ArchiveFields(TargetFields targets, InstantSource clock) {
    this.targets = targets;
    this.clock = clock;
  }

  /** The task, or null if errors were found. */
  @Nullable ArchivedTask read(Fields fields, Caller caller) {
    int before = fields.errors().count();
    Instant horizon = clock.instant().plus(Limits.HORIZON);
    checkFormat(fields);
    checkTenant(fields, caller.tenant().name());
    checkState(fields);
    TaskId id = id(fields, horizon);
    String type = fields.required("type", fields.typeName("type"));
    Integer priority = fields.required("priority", fields.integer("priority", 0, 9));
    Integer slice = fields.integer("slice", 0, MAX_SLICE);
    Instant dueAt = fields.required("dueAt", fields.timeBefore("dueAt", horizon));
    Instant createdAt = fields.required("createdAt", fields.time("createdAt"));
    Integer attempt = fields.required("attempt", fields.integer("attempt", 0, MAX_NUMBER));
    Integer fence = fields.required("fence", fields.integer("fence", 0, MAX_NUMBER));
    Integer version = fields.required("version", fields.integer("version", 1, MAX_NUMBER));
    // An archive has no secrets; values that the type does not have stay hidden.
    Target target = targets.change(fields, caller.grants());
    RetryPolicy retry = RetryFields.read(fields);
    Map<String, String> metadata =
        fields.pairs(
            "metadata",
            Limits.METADATA_PAIRS,
            Limits.METADATA_NAME_CHARS,
            Limits.METADATA_VALUE_CHARS);
    Callbacks callbacks = targets.callbacks(fields, type);
    boolean cancelRequested = Boolean.TRUE.equals(fields.bool("cancelRequested"));
    String key = fields.text("key", Limits.KEY_CHARS);
    Instant startedAt = fields.time("startedAt");
    Instant finishedAt = fields.time("finishedAt");
    Instant expiresAt = fields.timeBefore("expiresAt", horizon.plus(Limits.HORIZON));
    Integer crashes = fields.integer("crashes", 0, MAX_CRASHES);
    String leasedBy = fields.text("leasedBy", MAX_NAME_CHARS);
    String concurrencyKey = fields.text("concurrencyKey", Limits.KEY_CHARS);
    String scheduleName = fields.typeName("scheduleName"); // it becomes a header
    Instant fireAt = fields.time("fireAt");
    String progress = bounded(fields, "progress");
    String payload = payload(fields);
    AttemptResult last = result(fields, null);
    List<TaskStory.Attempt> attempts = attempts(fields);
    List<TaskStory.Transition> transitions = transitions(fields);
    fields.done();
    if (fields.errors().count() > before
        || id == null
        || type == null
        || priority == null
        || dueAt == null
        || createdAt == null
        || attempt == null
        || fence == null
        || version == null) {
      return null;
    }
    TaskView task =
        new TaskView(
            caller.tenant().name(),
            id,
            new Lane(
                NO_LANE,
                caller.tenantId(),
                type,
                priority,
                slice == null ? 0 : slice,
                target == null ? Route.TYPE : Route.of(target)),
            new TaskSpec(type, key, concurrencyKey, payload, target, retry, metadata, callbacks),
            TaskState.DEAD,
            dueAt,
            null,
            createdAt,
            startedAt,
            finishedAt,
            expiresAt,
            attempt,
            NOT_STORED,
            fence,
            version,
            cancelRequested,
            leasedBy,
            null,
            scheduleName,
            fireAt,
            last,
            progress,
            crashes == null ? 0 : crashes);
    return new ArchivedTask(task, attempts, transitions);
  }

  private static void checkFormat(Fields fields) {
    Integer format = fields.required("format", fields.integer("format", 0, MAX_NUMBER));
    if (format != null && format != ArchiveLine.FORMAT) {
      fields.wrong(
          "format",
          ErrorCode.INVALID_VALUE,
          "is " + format + "; this version reads format " + ArchiveLine.FORMAT);
    }
  }

  private static void checkTenant(Fields fields, String tenant) {
    String given = fields.required("tenant", fields.string("tenant"));
    if (given != null && !given.equals(tenant)) {
      fields.wrong(
          "tenant",
          ErrorCode.INVALID_VALUE,
          "is "
              + Echo.of(given)
              + ", but this request acts on "
              + tenant
              + "; choose the tenant with the header Carillon-Tenant");
    }
  }

  private static void checkState(Fields fields) {
    String state = fields.required("status", fields.string("status"));
    if (state != null && !state.equals(TaskState.DEAD.name())) {
      fields.wrong("status", ErrorCode.INVALID_VALUE, "must be DEAD; only dead tasks are archived");
    }
  }

  private static @Nullable TaskId id(Fields fields, Instant horizon) {
    String text = fields.required("id", fields.string("id"));
    TaskId id = text == null ? null : TaskId.parse(text).orElse(null);
    if (text != null && id == null) {
      fields.wrong("id", ErrorCode.INVALID_ID, "is not a task id");
    } else if (id != null
        && (id.partition().compareTo(FIRST_PARTITION) < 0
            || id.partition().compareTo(Partition.of(horizon)) > 0)) {
      fields.wrong(
          "id",
          ErrorCode.OUT_OF_RANGE,
          "contains a day before " + FIRST_PARTITION.day() + " or more than two years ahead");
      return null;
    }
    return id;
  }

  /** As JSON, or as text if the JSON has line breaks, which a line cannot have. */
  private static @Nullable String payload(Fields fields) {
    String payload = fields.raw("payload");
    String text = fields.string("payloadText");
    if (payload != null && text != null) {
      fields.wrong(
          "payloadText", ErrorCode.EXCLUSIVE_FIELDS, "cannot be set together with payload");
      return null;
    }
    String name = payload == null ? "payloadText" : "payload";
    String given = payload == null ? text : payload;
    if (given == null) {
      return null;
    }
    if (given.getBytes(StandardCharsets.UTF_8).length > Limits.PAYLOAD_BYTES) {
      fields.wrong(
          name, ErrorCode.PAYLOAD_TOO_LARGE, "may have " + Limits.PAYLOAD_BYTES + " bytes");
      return null;
    }
    if (payload == null && !isJson(given)) {
      fields.wrong(name, ErrorCode.INVALID_VALUE, "must be JSON in a string");
      return null;
    }
    return given;
  }

  private static boolean isJson(String text) {
    try {
      Map<String, JsonValue> only = JsonText.object("{\"payload\":" + text + "}").fields();
      return only.size() == 1
          && only.get("payload") instanceof JsonValue.Raw(String json)
          && json.equals(text);
    } catch (ApiException e) {
      return false;
    }
  }

  /**
   * @param status of an attempt; that of a task is only in its error
   */
  private static AttemptResult result(Fields fields, @Nullable Integer status) {
    FailureKind kind = null;
    String message = null;
    Fields error = fields.object("error");
    if (error != null) {
      kind = error.choice("kind", FailureKind.class);
      message = bounded(error, "message");
      Integer ofError = error.integer("status", 0, MAX_STATUS);
      status = ofError == null ? status : ofError;
      error.done();
    }
    return new AttemptResult(kind, status, message, output(fields), request(fields));
  }

  /** The API shows a request as JSON, so it must be JSON. */
  private static @Nullable String request(Fields fields) {
    String request = bounded(fields, "request");
    if (request != null && !isJson(request)) {
      fields.wrong("request", ErrorCode.INVALID_VALUE, "must be JSON in a string");
      return null;
    }
    return request;
  }

  private static @Nullable String output(Fields fields) {
    String json = fields.raw("output");
    if (json == null || json.equals("null")) {
      return null;
    }
    if (!json.startsWith("\"")) {
      fields.wrong("output", ErrorCode.INVALID_TYPE, "must be a string");
      return null;
    }
    String output = JsonText.string(json);
    if (!Fields.isWellFormed(output)) {
      fields.wrong("output", ErrorCode.INVALID_VALUE, Fields.UNPAIRED_SURROGATE);
      return null;
    }
    if (output.getBytes(StandardCharsets.UTF_8).length > Limits.OUTPUT_BYTES) {
      fields.wrong(
          "output", ErrorCode.OUTPUT_TOO_LARGE, "may have " + Limits.OUTPUT_BYTES + " bytes");
      return null;
    }
    return output;
  }

  private static @Nullable String bounded(Fields fields, String name) {
    String text = fields.string(name);
    if (text != null && text.length() > MAX_ERROR_CHARS) {
      fields.wrong(
          name,
          ErrorCode.TOO_LONG,
          "may have " + MAX_ERROR_CHARS + " characters, has " + text.length());
      return null;
    }
    return text;
  }

  private static List<TaskStory.Attempt> attempts(Fields fields) {
    List<TaskStory.Attempt> attempts = new ArrayList<>();
    for (Fields each : fields.objects("attempts", ArchivedTask.MAX_HISTORY)) {
      Integer attempt = each.required("attempt", each.integer("attempt", 0, MAX_NUMBER));
      Integer fence = each.required("fence", each.integer("fence", 0, MAX_NUMBER));
      String by = each.text("by", MAX_NAME_CHARS);
      Instant startedAt = each.time("startedAt");
      Instant endedAt = each.required("endedAt", each.time("endedAt"));
      String outcome = each.required("outcome", each.string("outcome"));
      if (outcome != null && !OUTCOMES.contains(outcome)) {
        each.wrong("outcome", ErrorCode.INVALID_VALUE, "must be one of " + sorted(OUTCOMES));
      }
      AttemptResult result = result(each, each.integer("status", 0, MAX_STATUS));
      each.done();
      if (attempt != null && fence != null && endedAt != null && outcome != null) {
        attempts.add(
            new TaskStory.Attempt(attempt, fence, by, startedAt, endedAt, outcome, result));
      }
    }
    return attempts;
  }

  private static List<TaskStory.Transition> transitions(Fields fields) {
    List<TaskStory.Transition> transitions = new ArrayList<>();
    for (Fields each : fields.objects("transitions", ArchivedTask.MAX_HISTORY)) {
      Instant at = each.required("at", each.time("at"));
      TaskState from = state(each, "from");
      TaskState to = state(each, "to");
      Integer fence = each.required("fence", each.integer("fence", 0, MAX_NUMBER));
      String by = each.required("by", each.text("by", MAX_NAME_CHARS));
      String reason = bounded(each, "reason");
      each.done();
      if (from != null && to != null && !from.canBecome(to)) {
        each.wrong("to", ErrorCode.INVALID_VALUE, "no task goes from " + from + " to " + to);
      } else if (at != null && from != null && to != null && fence != null && by != null) {
        transitions.add(new TaskStory.Transition(at, from, to, fence, by, reason));
      }
    }
    return transitions;
  }

  private static @Nullable TaskState state(Fields fields, String name) {
    String text = fields.required(name, fields.string(name));
    if (text == null) {
      return null;
    }
    for (TaskState state : TaskState.values()) {
      if (state.name().equals(text)) {
        return state;
      }
    }
    fields.wrong(name, ErrorCode.INVALID_VALUE, "is not a task state");
    return null;
  }

  private static String sorted(Set<String> words) {
    return String.join(", ", words.stream().sorted().toList());
  }
}
