package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Builds histories of a program without defects, unless a test says otherwise. Time advances by a
 * millisecond with every event.
 */
final class Story {

  static final long START = 1_800_000_000_000_000L;
  private static final long MILLI = 1000;

  final List<Event> events = new ArrayList<>();
  final List<Row> rows = new ArrayList<>();
  private final Map<String, State> tasks = new LinkedHashMap<>();
  private long now = START;
  private long lastOp;
  private long lastSeq;

  /** The row of a task. */
  private static final class State {
    private Fields fixed;
    private String state = "PENDING";
    private long version = 1;
    private long attempt;
    private long fence;
    private long readyAt;
    private String claim = "";
    private String payloadHash;
    private long finishedAt;

    State(Fields fixed, long readyAt, String payloadHash) {
      this.fixed = fixed;
      this.readyAt = readyAt;
      this.payloadHash = payloadHash;
    }
  }

  Story() {
    row(Table.TENANT, Fields.of("id", 1).and("name", "a"));
    row(Table.TENANT, Fields.of("id", 2).and("name", "b"));
    event(
        "options",
        Fields.of("leaseMs", 3000)
            .and("timeoutMs", 2000)
            .and("retryMs", 400)
            .and("markers", List.of(marker("a"), marker("b"))));
    event("node-start", Fields.of("node", "node-1"));
  }

  private static Fields marker(String tenant) {
    return Fields.of("tenant", tenant).and("marker", "marker-of-" + tenant);
  }

  Story after(long millis) {
    now += millis * MILLI;
    return this;
  }

  long now() {
    return now;
  }

  void row(Table table, Fields fields) {
    rows.add(new Row(table, fields));
  }

  /** Changes the latest row of this table for the task. */
  void alterLast(Table table, String task, String name, @Nullable Object value) {
    for (int i = rows.size() - 1; i >= 0; i--) {
      Row row = rows.get(i);
      if (row.table() == table && task.equals(row.text("task"))) {
        rows.set(i, new Row(table, row.fields().and(name, value)));
        return;
      }
    }
    throw new IllegalArgumentException("no such row");
  }

  /** Changes the final row of a task. */
  void alterTask(String id, String name, @Nullable Object value) {
    task(id).fixed = task(id).fixed.and(name, value);
  }

  Event event(String what, Fields fields) {
    return add(null, Kind.EVENT, what, fields);
  }

  private Event add(@Nullable Long op, Kind kind, String what, Fields fields) {
    now += MILLI;
    Event event = new Event(events.size() + 1, (now - START) * 1000, now, op, kind, what, fields);
    events.add(event);
    return event;
  }

  /** A successful operation. */
  void ok(String what, Fields request, Fields response) {
    long op = ++lastOp;
    add(op, Kind.INVOKE, what, request);
    add(op, Kind.OK, what, response);
  }

  void ended(Kind kind, String what, Fields request, Fields response) {
    long op = ++lastOp;
    add(op, Kind.INVOKE, what, request);
    add(op, kind, what, response);
  }

  String submit(int n, String target) {
    return submit(n, target, now + 2 * MILLI);
  }

  String submit(int n, String target, long dueAt) {
    String id = new UUID(7, n).toString();
    ok("submit", submitFields(n, target, dueAt), Fields.of("id", id).and("status", 202));
    insert(id, n, Math.max(dueAt, now));
    return id;
  }

  Fields submitFields(int n, String target, long dueAt) {
    return Fields.of("tenant", "a")
        .and("key", "key-" + n)
        .and("type", "web")
        .and("target", target)
        .and("dueAt", dueAt)
        .and("n", n)
        .and("payloadHash", "hash-" + n)
        .and("maxAttempts", 3);
  }

  /** Inserts the task into the database. */
  void insert(String id, int n, long readyAt) {
    Fields fixed = Fields.of("tenant", 1).and("id", id).and("type", "web").and("n", n);
    tasks.put(id, new State(fixed, readyAt, "hash-" + n));
    row(
        Table.TASK_LOG,
        log(id)
            .and("to_state", "PENDING")
            .and("to_version", 1)
            .and("to_attempt", 0)
            .and("to_fence", 0)
            .and("cancel", false));
  }

  private Fields log(String id) {
    now += MILLI;
    return Fields.of("seq", ++lastSeq).and("at", now).and("tenant", 1).and("task", id);
  }

  long claim(String id) {
    State task = task(id);
    now = Math.max(now, task.readyAt);
    change(
        id, "RUNNING", task.attempt + 1, task.fence + 1, new UUID(task.fence, lastSeq).toString());
    return task.fence;
  }

  private State task(String id) {
    State task = tasks.get(id);
    if (task == null) {
      throw new IllegalArgumentException("there is no task " + id);
    }
    return task;
  }

  /** Ends the claim. With PENDING the task is retried after the minimum delay. */
  void end(String id, String state) {
    State task = task(id);
    long fence = task.fence;
    long attempt = task.attempt;
    change(id, state, attempt, fence, "");
    if (state.equals("PENDING")) {
      task.readyAt = now + 400 * MILLI;
      row(
          Table.ATTEMPT,
          Fields.of("tenant", 1)
              .and("task", id)
              .and("attempt", attempt)
              .and("fence", fence)
              .and("outcome", "RETRIED"));
    } else {
      task.finishedAt = now;
    }
    if (state.equals("DEAD")) {
      row(Table.DEAD_LETTER, Fields.of("tenant", 1).and("task", id));
    }
  }

  void change(String id, String state, long attempt, long fence, String claim) {
    State task = task(id);
    boolean isClaim = !claim.isEmpty();
    row(
        Table.TASK_LOG,
        log(id)
            .and("from_state", task.state)
            .and("to_state", state)
            .and("from_version", task.version)
            .and("to_version", task.version + 1)
            .and("from_attempt", task.attempt)
            .and("to_attempt", attempt)
            .and("from_fence", task.fence)
            .and("to_fence", fence)
            .and("from_claim", task.claim.isEmpty() ? null : task.claim)
            .and("to_claim", isClaim ? claim : null)
            .and("holder", task.state.equals("RUNNING") ? "node-1-abc" : null)
            .and("held_until", task.state.equals("RUNNING") ? now + 2000 * MILLI : null)
            .and("ready_at", task.state.equals("PENDING") ? task.readyAt : null)
            .and("cancel", false)
            .and("edited", false));
    task.state = state;
    task.version++;
    task.attempt = attempt;
    task.fence = fence;
    task.claim = claim;
  }

  /** Edits the payload; the version in the response is that of the task. */
  void edit(String id, String payloadHash) {
    long op = ++lastOp;
    add(
        op,
        Kind.INVOKE,
        "edit",
        Fields.of("tenant", "a").and("id", id).and("payloadHash", payloadHash));
    State task = task(id);
    change(id, task.state, task.attempt, task.fence, task.claim);
    alterLast(Table.TASK_LOG, id, "edited", true);
    task.payloadHash = payloadHash;
    row(
        Table.AUDIT,
        Fields.of("id", 2000 + op).and("tenant", 1).and("action", "task.edit").and("subject", id));
    add(op, Kind.OK, "edit", Fields.of("status", 200).and("version", task.version));
  }

  void deliver(String id, long fence, int n, String status) {
    State task = tasks.get(id);
    long attempt = task != null && task.fence == fence ? task.attempt : fence;
    Fields same = Fields.of("task", id).and("fence", fence).and("attempt", attempt).and("conn", 1);
    event(
        "recv-start",
        same.and("tenant", "a")
            .and("expected", "a")
            .and("n", n)
            .and("payloadHash", task == null ? "hash-" + n : task.payloadHash)
            .and("signatureValid", true));
    event("recv-end", same.and("status", status).and("answered", now));
  }

  /** A task that succeeds at the first attempt. */
  String completed(int n) {
    String id = submit(n, "http");
    long fence = claim(id);
    deliver(id, fence, n, "200");
    end(id, "COMPLETED");
    return id;
  }

  /** A task whose payload is edited before it succeeds. */
  String edited(int n) {
    String id = submit(n, "http");
    edit(id, "edited-" + n);
    long fence = claim(id);
    deliver(id, fence, n, "200");
    end(id, "COMPLETED");
    return id;
  }

  /** A task that fails all its attempts. */
  String dead(int n) {
    String id = submit(n, "http");
    for (int i = 1; i <= 3; i++) {
      long fence = claim(id);
      deliver(id, fence, n, "500");
      end(id, i < 3 ? "PENDING" : "DEAD");
    }
    return id;
  }

  String cancelled(int n) {
    String id = submit(n, "http", now + 60_000 * MILLI);
    long op = ++lastOp;
    add(op, Kind.INVOKE, "cancel", Fields.of("tenant", "a").and("id", id));
    end(id, "CANCELLED");
    row(
        Table.AUDIT,
        Fields.of("id", n).and("tenant", 1).and("action", "task.cancel").and("subject", id));
    add(op, Kind.OK, "cancel", Fields.of("status", 200).and("state", "CANCELLED"));
    return id;
  }

  String pulled(int n) {
    String id = submit(n, "pull");
    long op = ++lastOp;
    add(op, Kind.INVOKE, "work-claim", Fields.of("tenant", "a").and("worker", "w").and("max", 1));
    long fence = claim(id);
    Fields given =
        Fields.of("id", id).and("fence", fence).and("n", n).and("payloadHash", "hash-" + n);
    add(op, Kind.OK, "work-claim", Fields.of("tasks", List.of(given)));
    long report = ++lastOp;
    add(
        report,
        Kind.INVOKE,
        "work-report",
        Fields.of("tenant", "a").and("id", id).and("fence", fence).and("outcome", "completed"));
    end(id, "COMPLETED");
    add(report, Kind.OK, "work-report", Fields.of("result", "accepted"));
    return id;
  }

  void read(String id) {
    State task = task(id);
    ok(
        "get",
        Fields.of("tenant", "a").and("id", id),
        Fields.of("state", task.state).and("version", task.version));
    ok("foreign-get", Fields.of("tenant", "b").and("id", id), Fields.of("status", 404));
  }

  void redrive(String id) {
    long op = ++lastOp;
    add(op, Kind.INVOKE, "redrive", Fields.of("tenant", "a").and("id", id));
    State task = task(id);
    row(
        Table.ATTEMPT,
        Fields.of("tenant", 1)
            .and("task", id)
            .and("attempt", task.attempt)
            .and("fence", task.fence)
            .and("outcome", "DEAD"));
    rows.removeIf(r -> r.table() == Table.DEAD_LETTER && r.need("task").equals(id));
    change(id, "PENDING", 0, task.fence, "");
    task.readyAt = now;
    row(
        Table.AUDIT,
        Fields.of("id", 1000 + op)
            .and("tenant", 1)
            .and("action", "task.redrive")
            .and("subject", id));
    add(op, Kind.OK, "redrive", Fields.of("status", 200));
  }

  /** A schedule that fires every two seconds for the given time. */
  void schedule(String name, int fires) {
    long anchor = now + 1000 * MILLI;
    ok(
        "schedule-put",
        Fields.of("tenant", "a")
            .and("name", name)
            .and("every", 2)
            .and("startAt", anchor)
            .and("target", "http"),
        Fields.of("status", 200));
    row(
        Table.SCHEDULE,
        Fields.of("id", 9).and("tenant", 1).and("name", name).and("anchor", anchor));
    for (int i = 0; i < fires; i++) {
      row(
          Table.FIRE,
          Fields.of("schedule", 9)
              .and("at", anchor + i * 2000L * MILLI)
              .and("kind", "SCHEDULED")
              .and("skipped", "OVERLAP"));
    }
    now = Math.max(now, anchor + (fires * 2000L + 14_000) * MILLI);
  }

  void leads(long term, String node) {
    row(
        Table.LEADER_LOG,
        Fields.of("seq", term)
            .and("at", now)
            .and("from_term", term - 1)
            .and("from_node", term == 1 ? null : "node-1-old")
            .and("from_lease", now - MILLI)
            .and("term", term)
            .and("node", node));
    row(
        Table.SHARD_LOG,
        Fields.of("seq", term)
            .and("at", now)
            .and("session", "node-1")
            .and("shard", 1)
            .and("node", node)
            .and("term", term)
            .and("in_force", term)
            .and("leader", node));
  }

  History history() {
    List<Row> all = new ArrayList<>(rows);
    tasks.forEach(
        (_, task) ->
            all.add(
                new Row(
                    Table.TASK,
                    task.fixed
                        .and("state", task.state)
                        .and("version", task.version)
                        .and("attempt", task.attempt)
                        .and("fence", task.fence)
                        .and("finished_at", task.finishedAt == 0 ? null : task.finishedAt))));
    return History.of(events, all);
  }

  /** A history with some of everything, and without violations. */
  static Story clean(int tasks) {
    Story story = new Story();
    story.leads(1, "node-1-abc");
    for (int n = 0; n < tasks; n++) {
      String id =
          switch (n % 5) {
            case 0 -> story.completed(n);
            case 1 -> story.dead(n);
            case 2 -> story.cancelled(n);
            case 3 -> story.pulled(n);
            default -> story.dead(n);
          };
      if (n % 5 == 4) {
        story.redrive(id);
        long fence = story.claim(id);
        story.deliver(id, fence, n, "200");
        story.end(id, "COMPLETED");
      }
      story.read(id);
    }
    story.edited(tasks);
    story.leads(2, "node-1-def");
    story.schedule("s", 5);
    story.event("phase", Fields.of("name", "check"));
    return story;
  }

  /** Removes the first matching row. */
  void drop(Table table, Predicate<Row> which) {
    rows.remove(
        rows.stream().filter(r -> r.table() == table).filter(which).findFirst().orElseThrow());
  }

  /** Changes the first matching row. */
  void alter(Table table, Predicate<Row> which, String name, Object value) {
    for (int i = 0; i < rows.size(); i++) {
      Row row = rows.get(i);
      if (row.table() == table && which.test(row)) {
        rows.set(i, new Row(table, row.fields().and(name, value)));
        return;
      }
    }
    throw new IllegalArgumentException("no such row");
  }

  /** Changes the first matching event. */
  void alter(Predicate<Event> which, String name, Object value) {
    for (int i = 0; i < events.size(); i++) {
      Event e = events.get(i);
      if (which.test(e)) {
        Fields fields = e.fields().and(name, value);
        events.set(i, new Event(e.seq(), e.t(), e.wall(), e.op(), e.kind(), e.what(), fields));
        return;
      }
    }
    throw new IllegalArgumentException("no such event");
  }
}
