package carillon.api.tasks;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.model.Partition;
import carillon.model.task.TaskState;
import carillon.store.catalog.Partitions;
import carillon.store.db.Tx;
import carillon.store.tasks.BulkResult;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Cancels all tasks that match a filter, makes them due now, or counts them in a dry run. */
public final class BulkRoutes {

  private final Tasks tasks;
  private final Idempotency idempotency;
  private final Paging paging;

  public BulkRoutes(Tasks tasks, Idempotency idempotency, Paging paging) {
    this.tasks = tasks;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/tasks/cancel", Permission.TASKS_CANCEL, this::cancel),
        Endpoint.post("/v1/tasks/run", Permission.TASKS_OPERATE, this::run));
  }

  private Answer cancel(Call call) {
    Bulk bulk = readBulk(call, Set.of(TaskState.PENDING, TaskState.RUNNING));
    return scan(
        call,
        tx ->
            bulk.isDryRun()
                ? counted(tasks.countCancellable(tx, call.tenant(), bulk.filter()), "cancelled")
                : cancelled(
                    call,
                    tasks.cancelMatching(
                        tx, call.tenant(), bulk.filter(), bulk.from(), call.caller().who())));
  }

  private Answer run(Call call) {
    Bulk bulk = readBulk(call, Set.of(TaskState.PENDING));
    return scan(
        call,
        tx ->
            bulk.isDryRun()
                ? counted(tasks.countRunnable(tx, call.tenant(), bulk.filter()), "run")
                : run(
                    call,
                    tasks.runMatching(
                        tx, call.tenant(), bulk.filter(), bulk.from(), call.caller().who())));
  }

  /** Runs work that scans all partitions; if one is dropped meanwhile, it has to start again. */
  private Answer scan(Call call, Function<Tx, Answer> work) {
    return Partitions.whileTheyChange(() -> idempotency.run(call, work));
  }

  private static Answer counted(Tasks.Count count, String what) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("matched", count.matched());
    if (count.isAtLeast()) {
      node.put("atLeast", true);
    }
    return Answer.json(200, node.put(what, 0).put("dryRun", true));
  }

  private Answer cancelled(Call call, BulkResult result) {
    return done(
        call,
        JsonNodeFactory.instance
            .objectNode()
            .put("cancelled", result.tasks())
            .put("requested", result.requested()),
        result);
  }

  private Answer run(Call call, BulkResult result) {
    return done(call, JsonNodeFactory.instance.objectNode().put("run", result.tasks()), result);
  }

  private Answer done(Call call, ObjectNode node, BulkResult result) {
    if (result.hasMore()) {
      node.put("more", true);
    }
    BulkResult.Place next = result.next();
    if (next != null) {
      String place = next.partition().day() + " " + next.lane() + " " + next.readyAt();
      node.put("nextCursor", paging.cursor(call, call.path(), place));
    }
    return Answer.json(200, node);
  }

  /** Cursors are sealed, so this is the text that {@link #done} wrote. */
  private static BulkResult.@Nullable Place place(String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 3
        ? new BulkResult.Place(
            new Partition(LocalDate.parse(parts[0])),
            Integer.parseInt(parts[1]),
            Instant.parse(parts[2]))
        : null;
  }

  private record Bulk(TaskFilter filter, BulkResult.@Nullable Place from, boolean isDryRun) {}

  private Bulk readBulk(Call call, Set<TaskState> states) {
    Fields fields = call.fields();
    boolean isDryRun = Boolean.TRUE.equals(fields.bool("dryRun"));
    String cursor = fields.text("cursor", TaskRoutes.MAX_TEXT);
    TaskFilter filter = filter(fields, states);
    fields.done();
    if (filter.equals(TaskFilter.ALL) && fields.errors().isEmpty()) {
      throw new ApiException(
          ErrorCode.FILTER_REQUIRED,
          "a filter is required: type, status, key, schedule, dueAfter, ...");
    }
    fields.errors().throwIfAny();
    String type = TaskRoutes.oneType(call.caller(), filter.type());
    BulkResult.Place from = paging.start(call, call.path(), cursor, BulkRoutes::place);
    return new Bulk(filter.ofType(type), from, isDryRun);
  }

  private static TaskFilter filter(Fields fields, Set<TaskState> states) {
    TaskState state = fields.choice("status", TaskState.class, TaskState::name);
    if (state != null && !states.contains(state)) {
      fields.wrong(
          "status",
          ErrorCode.INVALID_VALUE,
          "must be " + (states.size() == 1 ? "PENDING" : "PENDING or RUNNING"));
    }
    return new TaskFilter(
        fields.typeName("type"),
        state,
        fields.text("key", Limits.KEY_CHARS),
        fields.text("schedule", TaskRoutes.MAX_TEXT),
        fields.time("dueAfter"),
        fields.time("dueBefore"),
        fields.text("error", TaskRoutes.MAX_TEXT),
        TaskFields.metadata(fields));
  }
}
