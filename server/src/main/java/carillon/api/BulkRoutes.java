package carillon.api;

import carillon.model.TaskState;
import carillon.store.TaskFilter;
import carillon.store.Tasks;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Cancels all tasks that match a filter, or makes them due now; or says how many they are. */
final class BulkRoutes {

  private final Tasks tasks;
  private final Once once;

  BulkRoutes(Tasks tasks, Once once) {
    this.tasks = tasks;
    this.once = once;
  }

  List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/tasks/cancel", Permission.TASKS_CANCEL, this::cancel),
        Endpoint.post("/v1/tasks/run", Permission.TASKS_OPERATE, this::run));
  }

  private Answer cancel(Call call) {
    Asked asked = asked(call, Set.of(TaskState.PENDING, TaskState.RUNNING));
    return once.run(
        call,
        tx ->
            asked.isDryRun()
                ? counted(tasks.countCancellable(tx, call.tenant(), asked.filter()), "cancelled")
                : done(
                    tasks.cancelMatching(tx, call.tenant(), asked.filter(), call.caller().who()),
                    "cancelled"));
  }

  private Answer run(Call call) {
    Asked asked = asked(call, Set.of(TaskState.PENDING));
    return once.run(
        call,
        tx ->
            asked.isDryRun()
                ? counted(tasks.countRunnable(tx, call.tenant(), asked.filter()), "run")
                : done(
                    tasks.runMatching(tx, call.tenant(), asked.filter(), call.caller().who()),
                    "run"));
  }

  private static Answer counted(Tasks.Count count, String what) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("matched", count.matched());
    if (count.isAtLeast()) {
      node.put("atLeast", true);
    }
    return Answer.json(200, node.put(what, 0).put("dryRun", true));
  }

  private static Answer done(int tasks, String what) {
    ObjectNode node = JsonNodeFactory.instance.objectNode().put(what, tasks);
    if (tasks >= Tasks.MOST_AT_ONCE) {
      node.put("more", true);
    }
    return Answer.json(200, node);
  }

  private record Asked(TaskFilter filter, boolean isDryRun) {}

  private static Asked asked(Call call, Set<TaskState> states) {
    Fields fields = call.fields();
    boolean isDryRun = Boolean.TRUE.equals(fields.bool("dryRun"));
    TaskFilter filter = filter(fields, states);
    fields.done();
    if (filter.equals(TaskFilter.ALL) && fields.mistakes().none()) {
      throw new ApiException(
          ErrorCode.FILTER_REQUIRED, "say which tasks: type, status, key, schedule, dueAfter, ...");
    }
    fields.mistakes().refuse();
    String type = TaskRoutes.oneType(call.caller(), filter.type());
    return new Asked(filter.ofType(type), isDryRun);
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
        fields.pairs(
            "metadata",
            Limits.METADATA_PAIRS,
            Limits.METADATA_NAME_CHARS,
            Limits.METADATA_VALUE_CHARS));
  }
}
