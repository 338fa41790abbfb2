package carillon.api.tasks;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.TenantFull;
import carillon.api.error.ValidationErrors;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Caller;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.LargePages;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.api.schema.PayloadSchemas;
import carillon.api.targets.TargetFields;
import carillon.model.TaskId;
import carillon.model.task.NewTask;
import carillon.store.db.Page;
import carillon.store.db.Tx;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.TaskPatch;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.store.tasks.Tasks.CreateResult;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** Creates, shows and changes single tasks. */
public final class TaskRoutes {

  static final int MAX_TEXT = 200;

  private static final Set<String> PAGE = Set.of("limit", "cursor");

  private final Tasks tasks;
  private final TaskFields reader;
  private final PayloadSchemas schemas;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;

  public TaskRoutes(
      Tasks tasks,
      TaskFields reader,
      PayloadSchemas schemas,
      DatabaseGate database,
      Idempotency idempotency,
      Paging paging) {
    this.tasks = tasks;
    this.reader = reader;
    this.schemas = schemas;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/tasks", Permission.TASKS_CREATE, this::create),
        Endpoint.get("/v1/tasks/{id}", Permission.TASKS_READ, this::show),
        Endpoint.get("/v1/tasks/{id}/attempts", Permission.TASKS_READ, PAGE, this::attempts),
        Endpoint.get("/v1/tasks/{id}/transitions", Permission.TASKS_READ, PAGE, this::transitions),
        Endpoint.patch("/v1/tasks/{id}", Permission.TASKS_OPERATE, this::patch),
        Endpoint.post("/v1/tasks/{id}/cancel", Permission.TASKS_CANCEL, this::cancel),
        Endpoint.post("/v1/tasks/{id}/run", Permission.TASKS_OPERATE, this::run),
        Endpoint.post("/v1/tasks/{id}/redrive", Permission.TASKS_OPERATE, this::redrive));
  }

  private Answer create(Call call) {
    Fields fields = call.fields();
    NewTask task = reader.read(fields, call.caller().grants());
    if (call.idempotencyKey() == null) {
      requireValid(call, fields, task);
      if (task.uniqueFor() == null) {
        return created(
            task,
            TenantFull.reportedAt(
                "/type", () -> database.sharingCommit(() -> tasks.create(call.tenant(), task))));
      }
    }
    return idempotency.run(
        call,
        tx -> {
          requireValid(call, fields, task); // only now: a repeat gets the stored response
          return created(
              task, TenantFull.reportedAt("/type", () -> tasks.create(tx, call.tenant(), task)));
        });
  }

  private void requireValid(Call call, Fields fields, NewTask task) {
    fields.errors().throwIfAny();
    call.caller().requireAccess(task.type());
    schemas.validate(call.tenant(), task);
  }

  private static Answer created(NewTask task, CreateResult result) {
    return switch (result) {
      case CreateResult.Created(var view) ->
          Answer.json(
                  202, TaskJson.withPayload(TaskJson.withoutPayload(view), task.spec().payload()))
              .with("Location", "/v1/tasks/" + view.id())
              .withVersion(view.version());
      case CreateResult.Existing(var view) ->
          Answer.json(200, TaskJson.of(view))
              .with("Location", "/v1/tasks/" + view.id())
              .withVersion(view.version());
      case CreateResult.UnknownType(var type) ->
          throw ValidationErrors.one(
              new FieldError("/type", ErrorCode.UNKNOWN_TYPE.code(), unknownType(type)));
    };
  }

  public static String unknownType(String type) {
    return "the tenant is strict and does not have the type " + type;
  }

  private Answer show(Call call) {
    TaskId id = call.taskId();
    TaskStory story =
        database.use(() -> tasks.story(call.tenant(), id)).orElseThrow(TaskRoutes::notFound);
    if (!call.caller().hasAccess(story.task().type())) {
      throw notFound();
    }
    ObjectNode node = TaskJson.of(story);
    node.put("attemptsCursor", paging.cursor(call, attemptsOf(id), text(story.olderAttempts())));
    node.put(
        "transitionsCursor",
        paging.cursor(call, transitionsOf(id), text(story.olderTransitions())));
    return Answer.json(200, node).withVersion(story.task().version());
  }

  private static String attemptsOf(TaskId id) {
    return "/v1/tasks/" + id + "/attempts";
  }

  private static String transitionsOf(TaskId id) {
    return "/v1/tasks/" + id + "/transitions";
  }

  private static @Nullable String text(@Nullable Integer fence) {
    return fence == null ? null : fence.toString();
  }

  private static @Nullable String text(TaskStory.@Nullable Moment moment) {
    return moment == null ? null : moment.fence() + " " + moment.at();
  }

  private Answer attempts(Call call) {
    TaskView task = readable(call);
    int limit = call.query().limit();
    String path = attemptsOf(task.id());
    Integer before = paging.start(call, path, Integer::valueOf);
    Page<TaskStory.Attempt, Integer> page =
        LargePages.read(
            call,
            limit,
            true,
            before,
            (some, from) -> database.use(() -> tasks.attempts(call.tenant(), task, some, from)),
            LargePages::bytes);
    List<ObjectNode> items =
        page.items().stream().map(attempt -> TaskJson.of(task.id(), attempt)).toList();
    return paging.answer(call, path, items, text(page.next()));
  }

  private Answer transitions(Call call) {
    TaskView task = readable(call);
    int limit = call.query().limit();
    String path = transitionsOf(task.id());
    TaskStory.Moment before = paging.start(call, path, TaskRoutes::moment);
    Page<TaskStory.Transition, TaskStory.Moment> page =
        database.use(() -> tasks.transitions(call.tenant(), task, limit, before));
    List<ObjectNode> items = new ArrayList<>();
    page.items().forEach(transition -> items.add(TaskJson.of(transition)));
    if (page.next() == null) {
      items.add(TaskJson.creation(task));
    }
    return paging.answer(call, path, items, text(page.next()));
  }

  /** Cursors are sealed, so this is what {@link #text} wrote. */
  private static TaskStory.Moment moment(String text) {
    String[] parts = text.split(" ", 2);
    return new TaskStory.Moment(Integer.parseInt(parts[0]), Instant.parse(parts[1]));
  }

  private TaskView readable(Call call) {
    TaskId id = call.taskId();
    return database
        .use(() -> tasks.find(call.tenant(), id))
        .filter(task -> call.caller().hasAccess(task.type()))
        .orElseThrow(TaskRoutes::notFound);
  }

  /** The type to filter by. A key that is limited to several types must name one of them. */
  public static @Nullable String oneType(Caller caller, @Nullable String requested) {
    if (requested != null) {
      caller.requireAccess(requested);
      return requested;
    }
    return switch (caller.types().size()) {
      case 0 -> null;
      case 1 -> caller.types().getFirst();
      default ->
          throw new ApiException(
              ErrorCode.MISSING_SCOPE,
              "this key is limited to certain types; filter by one of them");
    };
  }

  private Answer patch(Call call) {
    TaskId id = call.taskId();
    Call.IfMatch ifMatch = call.ifMatch();
    Fields fields = call.fields();
    TaskPatch patch = reader.patch(fields, call.caller().grants());
    fields.errors().throwIfAny();
    Caller caller = call.caller();
    ChangeResult result =
        TargetFields.reportingUnknownSecrets(
            () ->
                database.inTransaction(
                    tx -> {
                      ChangeResult made =
                          TenantFull.reportedAt(
                              patch.priority() == null ? "/target" : "/priority",
                              () ->
                                  tasks.patch(
                                      tx,
                                      call.tenant(),
                                      id,
                                      patch,
                                      caller.who(),
                                      ifMatch.version()));
                      if (patch.payload() != null
                          && made instanceof ChangeResult.Changed(var task)) {
                        schemas.validate(call.tenant(), task); // an error rolls back the change
                      }
                      return made;
                    }));
    return changed(result, ErrorCode.WRONG_STATE, "only PENDING and DEAD tasks can be changed");
  }

  private Answer cancel(Call call) {
    return runChange(
        call,
        (tx, id, version) -> {
          ChangeResult result = tasks.cancel(tx, call.tenant(), id, call.caller().who(), version);
          return changed(
              result, ErrorCode.ALREADY_TERMINAL, "a task that has ended cannot be cancelled");
        });
  }

  private Answer run(Call call) {
    return runChange(
        call,
        (tx, id, version) ->
            changed(
                tasks.runNow(tx, call.tenant(), id, call.caller().who(), version),
                ErrorCode.WRONG_STATE,
                "only PENDING tasks can be made due"));
  }

  private Answer redrive(Call call) {
    return runChange(
        call,
        (tx, id, version) -> {
          ChangeResult result = tasks.redrive(tx, call.tenant(), id, call.caller().who(), version);
          if (result instanceof ChangeResult.Changed(var task)) {
            schemas.validateAgain(call.tenant(), task); // an error rolls back the change
          }
          return changed(result, ErrorCode.WRONG_STATE, "only DEAD tasks can be redriven");
        });
  }

  /** A change without a request body. */
  private interface Change {
    Answer make(Tx tx, TaskId id, @Nullable Integer ifVersion);
  }

  private Answer runChange(Call call, Change change) {
    TaskId id = call.taskId();
    Call.IfMatch ifMatch = call.ifMatch();
    call.noFields();
    if (!call.caller().types().isEmpty()) {
      // The type of a task never changes, so this need not be in the transaction.
      TaskView task =
          database.use(() -> tasks.find(call.tenant(), id)).orElseThrow(TaskRoutes::notFound);
      if (!call.caller().hasAccess(task.type())) {
        throw notFound();
      }
    }
    return idempotency.run(call, tx -> change.make(tx, id, ifMatch.version()));
  }

  private static Answer changed(ChangeResult result, ErrorCode wrongState, String why) {
    return switch (result) {
      case ChangeResult.Changed(var task) ->
          Answer.json(200, TaskJson.of(task)).withVersion(task.version());
      case ChangeResult.Unchanged(var task) ->
          Answer.json(200, TaskJson.of(task)).withVersion(task.version());
      case ChangeResult.Requested(var task) ->
          Answer.json(202, TaskJson.of(task)).withVersion(task.version());
      case ChangeResult.NotFound() -> throw notFound();
      case ChangeResult.WrongState(var task) ->
          throw new ApiException(wrongState, "the task is " + task.state() + "; " + why);
      case ChangeResult.StaleVersion(var task) ->
          throw new ApiException(
              ErrorCode.STALE_VERSION,
              "the task is now at version " + task.version() + "; read it again");
    };
  }

  static ApiException notFound() {
    return new ApiException(ErrorCode.NOT_FOUND, "task not found");
  }
}
