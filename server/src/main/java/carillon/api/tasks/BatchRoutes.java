package carillon.api.tasks;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.TenantFull;
import carillon.api.error.ValidationErrors;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Caller;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Permission;
import carillon.api.http.RequestBody;
import carillon.api.json.BodyMemory;
import carillon.api.json.Fields;
import carillon.api.json.JsonText;
import carillon.api.json.JsonValue;
import carillon.api.schema.PayloadSchemas;
import carillon.model.task.NewTask;
import carillon.store.tasks.PackedTasks;
import carillon.store.tasks.Tasks;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Creates many tasks at once, all or none. */
public final class BatchRoutes {

  public static final String PATH = "/v1/tasks/batch";

  private static final Duration BODY_TIME = Duration.ofMinutes(2);

  private final Tasks tasks;
  private final TaskFields reader;
  private final PayloadSchemas schemas;
  private final Idempotency idempotency;

  public BatchRoutes(
      Tasks tasks, TaskFields reader, PayloadSchemas schemas, Idempotency idempotency) {
    this.tasks = tasks;
    this.reader = reader;
    this.schemas = schemas;
    this.idempotency = idempotency;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.post(PATH, Permission.TASKS_CREATE, this::create));
  }

  private Answer create(Call call) {
    if (!call.body().isPresent()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; send a list of tasks");
    }
    boolean isRepeatable = call.idempotencyKey() != null;
    try (Batch batch = new Batch(call, isRepeatable)) {
      batch.read();
      if (!isRepeatable) {
        batch.requireValid();
      }
      ValidationErrors schemaErrors =
          batch.errors.isEmpty() // before the transaction starts, which would be idle meanwhile
              ? schemas.findErrors(call.tenant(), batch.tasks)
              : new ValidationErrors();
      return idempotency.run(
          call,
          tx -> {
            batch.requireValid(); // only now: a repeat gets the stored response in any case
            schemaErrors.throwIfAny();
            return created(
                TenantFull.reportedAt(
                    i -> "/tasks/" + i + "/type",
                    () -> tasks.createAll(tx, call.tenant(), batch.tasks)),
                isRepeatable);
          });
    }
  }

  /**
   * The tasks read so far, and their validation errors. Each task is packed as soon as it is
   * parsed, and nothing else of it stays in memory.
   */
  private final class Batch implements AutoCloseable {

    /** The memory for the id, the lane and the order of a task until the response is sent. */
    private static final int BYTES_PER_TASK = 24;

    private static final int TASKS_AT_ONCE = 256;

    private final RequestBody body;
    private final Caller caller;
    private final boolean isRepeatable; // then read all of it despite errors: it may be a repeat
    private final BodyMemory.Held values;
    private final PackedTasks tasks;
    private final ValidationErrors errors = new ValidationErrors();
    private @Nullable String forbidden; // a type that the caller has no access to
    private int lines;
    private int count;

    Batch(Call call, boolean isRepeatable) {
      this.body = call.body();
      this.caller = call.caller();
      this.isRepeatable = isRepeatable;
      this.values = body.share().held();
      this.tasks = new PackedTasks(body.share());
    }

    void read() {
      if (body.mediaType(RequestBody.JSON, RequestBody.NDJSON).equals(RequestBody.NDJSON)) {
        body.lines(Limits.BATCH_BYTES, Limits.BODY_BYTES, BODY_TIME, this::addLine);
      } else {
        body.items(Limits.BATCH_BYTES, "tasks", Limits.BODY_BYTES, BODY_TIME, this::add);
      }
      if (count == 0) {
        throw ValidationErrors.one(
            new FieldError(
                "/tasks", ErrorCode.REQUIRED_FIELD.code(), "must have at least one task"));
      }
    }

    private void addLine(byte[] bytes, int from, int length) {
      lines++;
      if (JsonText.isBlank(bytes, from, length)) {
        return;
      }
      try {
        add(JsonText.line(bytes, from, length, values));
      } catch (ApiException e) {
        throw e.errors().isEmpty() ? e.at("line " + lines) : e;
      }
    }

    private void add(JsonValue value) {
      if (count == Limits.BATCH_TASKS) {
        throw new ApiException(
                ErrorCode.BATCH_TOO_LARGE,
                "a batch can have at most " + Limits.BATCH_TASKS + " tasks")
            .closing();
      }
      String pointer = "/tasks/" + count;
      if (!(value instanceof JsonValue.Members object)) {
        throw ValidationErrors.one(
            new FieldError(pointer, ErrorCode.INVALID_TYPE.code(), "must be an object"));
      }
      Fields fields = new Fields(object, pointer, errors);
      NewTask task = reader.read(fields, caller.grants());
      if (task.uniqueFor() != null) {
        fields.wrong("unique", ErrorCode.INVALID_VALUE, "is not allowed in a batch");
      }
      if (count % TASKS_AT_ONCE == 0) {
        body.share().reserveMemory(TASKS_AT_ONCE * BYTES_PER_TASK);
      }
      count++;
      if (errors.isEmpty()) {
        tasks.add(task);
        forbidden = forbidden == null && !caller.hasAccess(task.type()) ? task.type() : forbidden;
      } else if (errors.isFull() && !isRepeatable) {
        errors.throwIfAny();
      }
    }

    /** Throws if a task is invalid, or if the caller has no access to a type. */
    void requireValid() {
      errors.throwIfAny();
      if (forbidden != null) {
        caller.requireAccess(forbidden);
      }
    }

    @Override
    public void close() {
      tasks.close();
    }
  }

  private static Answer created(Tasks.BatchResult result, boolean isStored) {
    return switch (result) {
      case Tasks.BatchResult.Created(var ids) -> {
        BatchAnswer answer = new BatchAnswer(ids);
        yield isStored
            ? Answer.json(202, answer.text())
            : Answer.json(202, "").written(answer::send);
      }
      case Tasks.BatchResult.UnknownType(var index, var type) ->
          throw ValidationErrors.one(
              new FieldError(
                  "/tasks/" + index + "/type",
                  ErrorCode.UNKNOWN_TYPE.code(),
                  TaskRoutes.unknownType(type)));
    };
  }
}
