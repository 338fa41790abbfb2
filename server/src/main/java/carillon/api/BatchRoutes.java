package carillon.api;

import carillon.model.NewTask;
import carillon.store.Tasks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Creates many tasks at once, all or none. */
final class BatchRoutes {

  static final String PATH = "/v1/tasks/batch";

  private static final Duration BODY_TIME = Duration.ofMinutes(2);

  private final Tasks tasks;
  private final TaskFields reader;
  private final PayloadSchemas schemas;
  private final Once once;

  BatchRoutes(Tasks tasks, TaskFields reader, PayloadSchemas schemas, Once once) {
    this.tasks = tasks;
    this.reader = reader;
    this.schemas = schemas;
    this.once = once;
  }

  List<Endpoint> endpoints() {
    return List.of(Endpoint.post(PATH, Permission.TASKS_CREATE, this::create));
  }

  private Answer create(Call call) {
    Batch batch = read(call);
    if (call.idempotencyKey() == null) {
      batch.refuse();
    }
    Mistakes misfits =
        batch.mistakes.none() // before there is a transaction to idle
            ? schemas.misfits(call.tenant(), batch.tasks)
            : new Mistakes();
    return once.run(
        call,
        tx -> {
          batch.refuse(); // only now: a repeat is answered as before, whatever changed
          misfits.refuse();
          return created(
              TenantFull.pointingTo(
                  i -> "/tasks/" + i + "/type",
                  () -> tasks.createAll(tx, call.tenant(), batch.tasks)));
        });
  }

  private Batch read(Call call) {
    Batch batch = new Batch(call.caller(), call.idempotencyKey() != null);
    RequestBody body = call.body();
    if (!body.isPresent()) {
      throw new ApiException(ErrorCode.BODY_REQUIRED, "the body is empty; tasks were expected");
    }
    if (body.mediaType(RequestBody.JSON, RequestBody.NDJSON).equals(RequestBody.NDJSON)) {
      body.lines(Limits.BATCH_BYTES, Limits.BODY_BYTES, BODY_TIME, batch::addLine);
    } else {
      JsonText.items(body.json(Limits.BATCH_BYTES, BODY_TIME), "tasks", batch::add);
    }
    return batch.finish();
  }

  /** The tasks read so far, and what is wrong with them. */
  private final class Batch {

    private final Caller caller;
    private final boolean isRepeatable; // then all of it is read: it may be a repeat
    private final List<NewTask> tasks = new ArrayList<>();
    private final Mistakes mistakes = new Mistakes();
    private int lines;

    Batch(Caller caller, boolean isRepeatable) {
      this.caller = caller;
      this.isRepeatable = isRepeatable;
    }

    void addLine(String text) {
      lines++;
      if (text.isBlank()) {
        return;
      }
      try {
        add(JsonText.object(text));
      } catch (ApiException e) {
        throw e.errors().isEmpty()
            ? new ApiException(e.code(), "line " + lines + ": " + e.detail())
            : e;
      }
    }

    void add(JsonValue value) {
      if (tasks.size() == Limits.BATCH_TASKS) {
        throw new ApiException(
                ErrorCode.BATCH_TOO_LARGE, "a batch may have " + Limits.BATCH_TASKS + " tasks")
            .closing();
      }
      String pointer = "/tasks/" + tasks.size();
      if (!(value instanceof JsonValue.Members object)) {
        throw Mistakes.one(
            new FieldError(pointer, ErrorCode.INVALID_TYPE.code(), "must be an object"));
      }
      Fields fields = new Fields(object, pointer, mistakes);
      NewTask task = reader.read(fields, caller.grants());
      if (task.uniqueFor() != null) {
        fields.wrong("unique", ErrorCode.INVALID_VALUE, "is not possible in a batch");
      }
      tasks.add(task);
      if (mistakes.isFull() && !isRepeatable) {
        mistakes.refuse();
      }
    }

    Batch finish() {
      if (tasks.isEmpty()) {
        throw Mistakes.one(
            new FieldError(
                "/tasks", ErrorCode.REQUIRED_FIELD.code(), "must have at least one task"));
      }
      return this;
    }

    /** Throws what is wrong with what was read, or with who sends it. */
    void refuse() {
      mistakes.refuse();
      tasks.forEach(task -> caller.mustBeAllowed(task.type()));
    }
  }

  private static Answer created(Tasks.BatchResult result) {
    return switch (result) {
      case Tasks.BatchResult.Created(var ids) -> {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("accepted", ids.size());
        ArrayNode array = node.putArray("ids");
        ids.forEach(id -> array.add(id.toString()));
        yield Answer.json(202, node);
      }
      case Tasks.BatchResult.UnknownType(var index, var type) ->
          throw Mistakes.one(
              new FieldError(
                  "/tasks/" + index + "/type",
                  ErrorCode.UNKNOWN_TYPE.code(),
                  TaskRoutes.unknownType(type)));
    };
  }
}
