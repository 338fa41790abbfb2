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
import carillon.api.tasks.TaskFields;
import carillon.model.Echo;
import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
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
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Reads the lines of an archive. People edit such files, so a line is validated like any request:
 * what passes cannot harm existing tasks.
 */
public final class ArchiveFields {

  /** No task is older, and every partition is four tables. */
  private static final Partition FIRST_PARTITION = new Partition(LocalDate.of(2020, 1, 1));

  /** Far more than any task has, and far from where the next claim would overflow. */
  private static final int MAX_NUMBER = 1_000_000_000;

  private static final int MAX_CRASHES = 1_000;
  private static final int MAX_STATUS = 999;
  private static final int MAX_SLICE = 63;
  private static final int MAX_NAME_CHARS = 500;
  private static final int MAX_ERROR_CHARS = 64 << 10;

  private static final List<String> OUTCOMES =
      List.of("CANCELLED", "COMPLETED", "DEAD", "RELEASED", "RETRIED");

  private final TargetFields targets;
  private final InstantSource clock;

  public ArchiveFields(TargetFields targets, InstantSource clock) {
    this.targets = targets;
    this.clock = clock;
  }

  /** The task, or null if errors were found in it or before it. */
  @Nullable ArchivedTask read(Fields fields, Caller caller) {
    checkFormat(fields);
    checkTenant(fields, caller.tenant().name());
    checkState(fields);
    ArchivedTask archived =
        new ArchivedTask(task(fields, caller), attempts(fields), transitions(fields));
    fields.done();
    return fields.errors().isEmpty() ? archived : null;
  }

  /**
   * Meaningful only if no errors were found. The id of its lane and its maximum number of attempts
   * are zero: a restore finds or creates the lane, and does not need the other.
   */
  private TaskView task(Fields fields, Caller caller) {
    Instant horizon = clock.instant().plus(Limits.HORIZON);
    String type = fields.required("type", fields.typeName("type"));
    // An archive has no secrets; values that the type does not have stay hidden.
    Target target = targets.change(fields, caller.grants());
    TaskSpec spec =
        new TaskSpec(
            type == null ? "" : type,
            fields.text("key", Limits.KEY_CHARS),
            fields.text("concurrencyKey", Limits.KEY_CHARS),
            payload(fields),
            target,
            RetryFields.read(fields),
            TaskFields.metadata(fields),
            targets.callbacks(fields, type));
    Integer slice = fields.integer("slice", 0, MAX_SLICE);
    Integer crashes = fields.integer("crashes", 0, MAX_CRASHES);
    return new TaskView(
        caller.tenant().name(),
        id(fields, horizon),
        new Lane(
            0,
            caller.tenantId(),
            spec.type(),
            number(fields, "priority", 0, 9),
            slice == null ? 0 : slice,
            target == null ? Route.TYPE : Route.of(target)),
        spec,
        TaskState.DEAD,
        required(fields, "dueAt", fields.timeBefore("dueAt", horizon)),
        null,
        required(fields, "createdAt", fields.time("createdAt")),
        fields.time("startedAt"),
        required(fields, "finishedAt", fields.time("finishedAt")),
        fields.timeBefore("expiresAt", horizon.plus(Limits.HORIZON)),
        number(fields, "attempt", 0, MAX_NUMBER),
        0,
        number(fields, "fence", 0, MAX_NUMBER),
        number(fields, "version", 1, MAX_NUMBER),
        Boolean.TRUE.equals(fields.bool("cancelRequested")),
        fields.text("leasedBy", MAX_NAME_CHARS),
        null,
        fields.typeName("scheduleName"), // it becomes a header
        fields.time("fireAt"),
        result(fields, null),
        bounded(fields, "progress"),
        crashes == null ? 0 : crashes);
  }

  /** A required number; zero if it has an error. */
  private static int number(Fields fields, String name, int min, int max) {
    Integer number = fields.required(name, fields.integer(name, min, max));
    return number == null ? 0 : number;
  }

  private static Instant required(Fields fields, String name, @Nullable Instant given) {
    Instant time = fields.required(name, given);
    return time == null ? Instant.EPOCH : time;
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

  private static TaskId id(Fields fields, Instant horizon) {
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
    }
    return id == null ? new TaskId(new UUID(0, 0)) : id;
  }

  /** As JSON, or as text if the JSON has line breaks, which a line cannot have. */
  private static @Nullable String payload(Fields fields) {
    fields.exclusive("payload", "payloadText");
    String text = TaskFields.payload(fields, "payloadText", fields.string("payloadText"));
    if (text == null) {
      return TaskFields.payload(fields);
    }
    if (!isJson(text)) {
      fields.wrong("payloadText", ErrorCode.INVALID_VALUE, "must be JSON in a string");
    }
    return text;
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
   * @param status the status of an attempt; null for the task, whose status is in {@code error}
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
          "output",
          ErrorCode.OUTPUT_TOO_LARGE,
          "must have at most " + Limits.OUTPUT_BYTES + " bytes");
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
          "must have at most " + MAX_ERROR_CHARS + " characters, has " + text.length());
      return null;
    }
    return text;
  }

  private static List<TaskStory.Attempt> attempts(Fields fields) {
    List<TaskStory.Attempt> attempts = new ArrayList<>();
    for (Fields each : fields.objects("attempts", ArchivedTask.MAX_HISTORY)) {
      attempts.add(
          new TaskStory.Attempt(
              number(each, "attempt", 0, MAX_NUMBER),
              number(each, "fence", 0, MAX_NUMBER),
              each.text("by", MAX_NAME_CHARS),
              each.time("startedAt"),
              required(each, "endedAt", each.time("endedAt")),
              outcome(each),
              result(each, each.integer("status", 0, MAX_STATUS))));
      each.done();
    }
    return attempts;
  }

  private static String outcome(Fields fields) {
    String outcome = fields.required("outcome", fields.string("outcome"));
    if (outcome != null && !OUTCOMES.contains(outcome)) {
      fields.wrong(
          "outcome", ErrorCode.INVALID_VALUE, "must be one of " + String.join(", ", OUTCOMES));
    }
    return outcome == null ? "" : outcome;
  }

  private static List<TaskStory.Transition> transitions(Fields fields) {
    List<TaskStory.Transition> transitions = new ArrayList<>();
    for (Fields each : fields.objects("transitions", ArchivedTask.MAX_HISTORY)) {
      TaskState from = each.required("from", each.choice("from", TaskState.class, Enum::name));
      TaskState to = each.required("to", each.choice("to", TaskState.class, Enum::name));
      Instant at = required(each, "at", each.time("at"));
      int fence = number(each, "fence", 0, MAX_NUMBER);
      String by = each.required("by", each.text("by", MAX_NAME_CHARS));
      String reason = bounded(each, "reason");
      each.done();
      if (from != null && to != null && !from.canBecome(to)) {
        each.wrong("to", ErrorCode.INVALID_VALUE, "no task goes from " + from + " to " + to);
      } else if (from != null && to != null && by != null) {
        transitions.add(new TaskStory.Transition(at, from, to, fence, by, reason));
      }
    }
    return transitions;
  }
}
