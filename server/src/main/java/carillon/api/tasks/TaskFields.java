package carillon.api.tasks;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.json.Fields;
import carillon.api.targets.RetryFields;
import carillon.api.targets.TargetFields;
import carillon.model.Durations;
import carillon.model.target.Grants;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskType;
import carillon.store.tasks.TaskPatch;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Reads the tasks of requests, and the changes to tasks. */
public final class TaskFields {

  private static final Set<String> READ_ONLY =
      Set.of(
          "id",
          "tenant",
          "tenantId",
          "status",
          "state",
          "createdAt",
          "startedAt",
          "finishedAt",
          "attempt",
          "attempts",
          "maxAttempts",
          "nextAttemptAt",
          "version",
          "fence",
          "output",
          "error",
          "scheduleName",
          "fireAt",
          "cancelRequested",
          "leasedBy",
          "leaseUntil",
          "progress",
          "transitions",
          "waitingFor");

  private final TargetFields targets;
  private final InstantSource clock;

  public TaskFields(TargetFields targets, InstantSource clock) {
    this.targets = targets;
    this.clock = clock;
  }

  /** The task, meaningful only if no errors were found. */
  NewTask read(Fields fields, Grants grants) {
    Instant now = clock.instant();
    Instant horizon = now.plus(Limits.HORIZON);
    String type = type(fields);
    String key = fields.text("key", Limits.KEY_CHARS);
    fields.exclusive("dueAt", "delay");
    Instant dueAt = fields.timeBefore("dueAt", horizon);
    Duration delay = delay(fields);
    Integer priority = fields.integer("priority", 0, 9);
    String payload = payload(fields);
    Target target = targets.read(fields, grants);
    RetryPolicy retry = RetryFields.read(fields);
    fields.exclusive("expiresAt", "ttl");
    Instant expiresAt = fields.timeBefore("expiresAt", horizon.plus(Limits.HORIZON));
    Duration ttl = fields.duration("ttl", Duration.ofMillis(1), Limits.HORIZON);
    String concurrencyKey = fields.text("concurrencyKey", Limits.KEY_CHARS);
    Duration uniqueFor = unique(fields);
    Map<String, String> metadata = metadata(fields);
    Callbacks callbacks = targets.newCallbacks(fields, type);
    fields.done(READ_ONLY);
    if (expiresAt != null && !expiresAt.isAfter(due(now, dueAt, delay))) {
      fields.wrong(
          "expiresAt",
          ErrorCode.OUT_OF_RANGE,
          "must be after the task is due, or it would never run");
    }
    TaskSpec spec =
        new TaskSpec(
            type == null ? "" : type,
            key,
            concurrencyKey,
            payload,
            target,
            retry,
            metadata,
            callbacks);
    return new NewTask(spec, priority, dueAt, delay, expiresAt, ttl, uniqueFor);
  }

  /** A due time in the past means now. */
  private static Instant due(Instant now, @Nullable Instant dueAt, @Nullable Duration delay) {
    Instant asked = delay == null ? dueAt : now.plus(delay);
    return asked == null || asked.isBefore(now) ? now : asked;
  }

  /** The type, which is required and must not be one of Carillon's own. */
  public static @Nullable String type(Fields fields) {
    String type = fields.required("type", fields.typeName("type"));
    if (type != null && TaskType.isOwn(type)) {
      fields.wrong(
          "type", ErrorCode.INVALID_VALUE, "is reserved for Carillon; choose another name");
    }
    return type;
  }

  TaskPatch patch(Fields fields, Grants grants) {
    for (String name : Set.of("dueAt", "priority", "retry", "key", "target")) {
      fields.notNull(name);
    }
    TaskPatch patch =
        new TaskPatch(
            fields.timeBefore("dueAt", clock.instant().plus(Limits.HORIZON)),
            fields.integer("priority", 0, 9),
            payload(fields),
            RetryFields.read(fields),
            fields.text("key", Limits.KEY_CHARS),
            targets.change(fields, grants));
    fields.done(READ_ONLY);
    return patch;
  }

  private static @Nullable Duration delay(Fields fields) {
    // Any duration is read, so that one beyond the horizon gets an error code of its own.
    Duration delay = fields.duration("delay", Duration.ZERO, Durations.MAX);
    if (delay != null && delay.compareTo(Limits.HORIZON) > 0) {
      fields.wrong("delay", ErrorCode.BEYOND_HORIZON, "must not be more than " + Limits.HORIZON);
      return null;
    }
    return delay;
  }

  private static @Nullable Duration unique(Fields fields) {
    Fields unique = fields.object("unique");
    if (unique == null) {
      return null;
    }
    Duration span = unique.required("for", unique.duration("for", Duration.ZERO, Limits.HORIZON));
    unique.done();
    if (!fields.has("key")) {
      fields.wrong("unique", ErrorCode.KEY_REQUIRED, "requires a key");
    }
    return span;
  }

  public static Map<String, String> metadata(Fields fields) {
    return fields.pairs(
        "metadata", Limits.METADATA_PAIRS, Limits.METADATA_NAME_CHARS, Limits.METADATA_VALUE_CHARS);
  }

  public static @Nullable String payload(Fields fields) {
    return payload(fields, "payload", fields.raw("payload"));
  }

  /** The payload that the named field has, unless it is too large. */
  public static @Nullable String payload(Fields fields, String name, @Nullable String payload) {
    // A char is encoded as at most three bytes, so that short payloads need not be encoded here.
    if (payload != null
        && payload.length() > Limits.PAYLOAD_BYTES / 3
        && payload.getBytes(StandardCharsets.UTF_8).length > Limits.PAYLOAD_BYTES) {
      fields.wrong(
          name,
          ErrorCode.PAYLOAD_TOO_LARGE,
          "must have at most " + Limits.PAYLOAD_BYTES + " bytes");
      return null;
    }
    return payload;
  }
}
