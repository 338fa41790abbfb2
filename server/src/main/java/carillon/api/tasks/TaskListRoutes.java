package carillon.api.tasks;

import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Cursors;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.LargePages;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.model.TaskId;
import carillon.store.db.Page;
import carillon.store.schedules.RecordedFire;
import carillon.store.schedules.Schedules;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** Lists tasks by due time, or the tasks of one schedule by nominal time. */
public final class TaskListRoutes {

  private static final Set<String> FILTERS =
      Set.of(
          "type",
          "status",
          "key",
          "schedule",
          "dueAfter",
          "dueBefore",
          "error",
          Query.METADATA,
          "limit",
          "cursor",
          "view");

  private final Tasks tasks;
  private final Schedules schedules;
  private final DatabaseGate database;
  private final Paging paging;

  public TaskListRoutes(Tasks tasks, Schedules schedules, DatabaseGate database, Paging paging) {
    this.tasks = tasks;
    this.schedules = schedules;
    this.database = database;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(Endpoint.get("/v1/tasks", Permission.TASKS_READ, FILTERS, this::list));
  }

  private Answer list(Call call) {
    TaskFilter filter = filter(call);
    Place start = paging.start(call, Place::parse);
    // With both a schedule and a key, search by key: few tasks share one.
    boolean isOfSchedule =
        filter.schedule() != null
            && filter.key() == null
            && (start == null || start.fire() != null);
    return (isOfSchedule ? ofSchedule(call, filter, start) : Optional.<Answer>empty())
        .orElseGet(() -> byDueTime(call, filter, start));
  }

  /** Where a page starts; the order of the list decides which of the two is set. */
  private record Place(@Nullable TaskId task, RecordedFire.@Nullable Position fire) {

    static @Nullable Place parse(String text) {
      if (text.contains(" ")) {
        return new Place(null, FireCursor.read(text));
      }
      return TaskId.parse(text).map(id -> new Place(id, null)).orElse(null);
    }
  }

  private static TaskFilter filter(Call call) {
    Query query = call.query();
    return new TaskFilter(
        TaskRoutes.oneType(call.caller(), query.typeName("type")),
        query.status("status"),
        query.text("key", Limits.KEY_CHARS),
        query.text("schedule", TaskRoutes.MAX_TEXT),
        query.time("dueAfter"),
        query.time("dueBefore"),
        query.text("error", TaskRoutes.MAX_TEXT),
        query.metadata());
  }

  private Answer byDueTime(Call call, TaskFilter filter, @Nullable Place start) {
    if (start != null && start.task() == null) {
      throw Cursors.invalid(); // the schedule was deleted while its tasks were listed
    }
    int limit = call.query().limit();
    boolean full = call.query().viewFull();
    Page<TaskView, TaskId> page =
        LargePages.read(
            call,
            limit,
            full,
            start == null ? null : start.task(),
            (some, from) -> database.use(() -> tasks.list(call.tenant(), filter, some, from, full)),
            LargePages::bytes);
    return paging.answer(
        call, json(page.items(), full), page.next() == null ? null : page.next().toString());
  }

  /** Empty if the schedule does not exist. If it was deleted, its tasks may still exist. */
  private Optional<Answer> ofSchedule(Call call, TaskFilter filter, @Nullable Place start) {
    int limit = call.query().limit();
    boolean full = call.query().viewFull();
    RecordedFire.Position before = start == null ? null : start.fire();
    try {
      Page<TaskView, RecordedFire.Position> page =
          LargePages.read(
              call,
              limit,
              full,
              before,
              (some, from) ->
                  database
                      .use(() -> schedules.tasks(call.tenant(), filter, some, from, full))
                      .orElseThrow(NoSchedule::new),
              LargePages::bytes);
      RecordedFire.Position next = page.next();
      return Optional.of(
          paging.answer(
              call, json(page.items(), full), next == null ? null : FireCursor.text(next)));
    } catch (NoSchedule e) {
      return Optional.empty();
    }
  }

  /** Stops reading a page that is read in several parts. */
  private static final class NoSchedule extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoSchedule() {
      super(null, null, false, false);
    }
  }

  private static List<ObjectNode> json(List<TaskView> tasks, boolean full) {
    Function<TaskView, ObjectNode> render = full ? TaskJson::of : TaskJson::withoutPayload;
    return tasks.stream().map(render).toList();
  }
}
