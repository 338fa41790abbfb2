package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.Counters;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Creates callback tasks in the transaction in which their task ends: there is exactly one for each
 * such end.
 */
final class CallbackTasks {

  private final Catalog catalog;
  private final Tasks tasks;
  private final TaskReader reader;
  private final Counters counters;

  CallbackTasks(Db db, Catalog catalog, Tasks tasks, Counters counters) {
    this.catalog = catalog;
    this.tasks = tasks;
    this.reader = new TaskReader(db, catalog);
    this.counters = counters;
  }

  // The rows as this transaction has just written them.
  private static final String ENDED =
      """
      /* CallbackTasks.ended */
      SELECT %s, NULL::text AS payload
      FROM unnest(?::int[], ?::uuid[]) AS ended (tenant, id)
      JOIN carillon.task_{partition} t ON t.tenant = ended.tenant AND t.id = ended.id
      """
          .formatted(TaskReader.COLUMNS);

  /** With the tenant: a task restored for two tenants has the same id in both. */
  private record TaskRef(TenantId tenant, TaskId id) {}

  /** Runs no query unless one of the tasks has a callback. */
  void write(Tx tx, Partition partition, List<EndedTask> done) {
    Map<TaskRef, Target> targets = new HashMap<>();
    List<EndedTask> withCallback = new ArrayList<>();
    for (EndedTask each : done) {
      Target target = target(each);
      if (target != null) {
        targets.put(new TaskRef(catalog.lane(each.lane()).tenant(), each.id()), target);
        withCallback.add(each);
      }
    }
    if (withCallback.isEmpty()) {
      return;
    }
    Map<TenantId, List<NewTask>> byTenant = new HashMap<>();
    for (TaskView task :
        tx.query(
            Sql.forPartition(ENDED, partition),
            reader::view,
            Column.ints(withCallback, each -> catalog.lane(each.lane()).tenant().value()),
            Column.uuids(withCallback, each -> each.id().value()))) {
      TenantId tenant = task.lane().tenant();
      Target target = Objects.requireNonNull(targets.get(new TaskRef(tenant, task.id())));
      byTenant.computeIfAbsent(tenant, _ -> new ArrayList<>()).add(callback(task, target));
    }
    byTenant.forEach((tenant, callbacks) -> tasks.createOwn(tx, tenant, callbacks));
    tx.afterCommit(() -> counters.addCallbacks(withCallback.size()));
  }

  /** The task's own callback, or else its type's. */
  private @Nullable Target target(EndedTask done) {
    if (done.state() != TaskState.COMPLETED && done.state() != TaskState.DEAD) {
      return null;
    }
    Lane lane = catalog.lane(done.lane());
    if (TaskType.isOwn(lane.type())) {
      return null;
    }
    return done.callback() == null
        ? catalog.type(lane).callbacks().of(done.state())
        : Json.target(done.callback());
  }

  private static NewTask callback(TaskView task, Target target) {
    TaskSpec spec =
        new TaskSpec(Callbacks.TYPE, task.id().toString(), payload(task).toString(), target);
    return new NewTask(spec, task.priority(), null);
  }

  private static ObjectNode payload(TaskView task) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("event", task.state() == TaskState.DEAD ? "task.dead" : "task.completed");
    node.put("at", time(task.finishedAt()));
    ObjectNode ended = node.putObject("task");
    ended.put("id", task.id().toString());
    ended.put("type", task.type());
    ended.put("key", task.key());
    ended.put("status", task.state().name());
    ended.put("attempt", task.attempt());
    ended.put("dueAt", time(task.dueAt()));
    ended.put("startedAt", time(task.startedAt()));
    ended.put("finishedAt", time(task.finishedAt()));
    ended.put("scheduleName", task.scheduleName());
    ended.put("fireAt", time(task.fireAt()));
    AttemptResult last = task.last();
    ended.put("output", last.output());
    ended.put("error", last.error());
    ended.put("failure", last.failure() == null ? null : last.failure().label());
    ended.set("metadata", Json.of(task.spec().metadata()));
    return node;
  }

  private static @Nullable String time(@Nullable Instant time) {
    return time == null ? null : Json.of(time);
  }
}
