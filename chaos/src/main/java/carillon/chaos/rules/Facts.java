package carillon.chaos.rules;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A history indexed by operation, task and schedule, for the rules. */
public final class Facts {

  private static final int DEFAULT_ATTEMPTS = 5;

  private final History history;
  private final Map<String, List<Op>> ops = new LinkedHashMap<>();
  private final Map<String, List<Op>> opsOfTask = new HashMap<>();
  private final Map<String, Row> tasks = new LinkedHashMap<>();
  private final Map<String, String> tenants = new HashMap<>();
  private final Map<String, List<Row>> changes;
  private final Map<String, List<Row>> attempts;
  private final Map<String, List<Row>> transitions;
  private final Map<String, List<Row>> marks;
  private final Map<String, List<Event>> calls = new HashMap<>();
  private final Map<String, List<Delivery>> deliveries = new LinkedHashMap<>();
  private final Map<String, List<WorkerClaim>> workerClaims = new LinkedHashMap<>();
  private final Map<String, Op> submitOf = new HashMap<>();
  private final Map<String, List<Op>> submitsByNumber = new LinkedHashMap<>();
  private final Map<String, Op> schedulePuts = new HashMap<>();
  private final List<FaultPeriod> faults = new ArrayList<>();
  private final Set<String> labels = new LinkedHashSet<>();
  private Fields options = Fields.none();

  public Facts(History history) {
    this.history = history;
    pairOperations();
    pairDeliveries();
    pairFaults();
    history.rows(Table.TASK).forEach(row -> tasks.put(row.need("id"), row));
    history.rows(Table.TENANT).forEach(row -> tenants.put(row.need("id"), row.need("name")));
    changes = byTask(Table.TASK_LOG, Comparator.comparingLong(row -> row.number("seq")));
    attempts = byTask(Table.ATTEMPT, Comparator.comparingLong(row -> row.number("fence")));
    transitions = byTask(Table.TRANSITION, Comparator.comparingLong(Facts::at));
    marks = byTask(Table.MARK_LOG, Comparator.comparingLong(Facts::at));
    for (Event event : history.events()) {
      if (event.is("recv-start") || event.is("poison-call")) {
        calls.computeIfAbsent(event.need("task"), _ -> new ArrayList<>()).add(event);
      }
    }
  }

  private Map<String, List<Row>> byTask(Table table, Comparator<Row> order) {
    Map<String, List<Row>> rows = new HashMap<>();
    for (Row row : history.rows(table)) {
      rows.computeIfAbsent(row.need("task"), _ -> new ArrayList<>()).add(row);
    }
    rows.values().forEach(some -> some.sort(order));
    return rows;
  }

  private void pairOperations() {
    Map<Long, Event> ends = new HashMap<>();
    for (Event event : history.events()) {
      Long op = event.op();
      if (op != null && event.kind() != Kind.INVOKE) {
        ends.put(op, event);
      }
      if (event.is("options")) {
        options = options.and(event.fields());
      } else if (event.is("node-start")) {
        labels.add(event.need("node"));
      }
    }
    for (Event event : history.events()) {
      Long number = event.op();
      if (number != null && event.kind() == Kind.INVOKE) {
        add(new Op(event, ends.get(number)));
      }
    }
  }

  private void add(Op op) {
    ops.computeIfAbsent(op.invoke().what(), _ -> new ArrayList<>()).add(op);
    String id = op.text("id");
    if (id != null) {
      opsOfTask.computeIfAbsent(id, _ -> new ArrayList<>()).add(op);
    }
    switch (op.invoke().what()) {
      case "submit" -> {
        if (id != null && op.isOk()) {
          submitOf.putIfAbsent(id, op);
        }
        submitsByNumber.computeIfAbsent(op.need("n"), _ -> new ArrayList<>()).add(op);
      }
      case "work-claim" -> {
        for (Fields task : op.isOk() ? given(op) : List.<Fields>of()) {
          WorkerClaim one = new WorkerClaim(op, task);
          workerClaims.computeIfAbsent(one.id(), _ -> new ArrayList<>()).add(one);
        }
      }
      case "schedule-put" ->
          schedulePuts.putIfAbsent(op.need("tenant") + " " + op.need("name"), op);
      default -> {}
    }
  }

  static List<Fields> given(Op claim) {
    Event end = claim.end();
    return end == null ? List.of() : end.fields().list("tasks");
  }

  /** A connection carries one request at a time, so an end belongs to its latest start. */
  private void pairDeliveries() {
    Map<String, Event> open = new HashMap<>();
    Map<Long, @Nullable Event> ends = new HashMap<>();
    List<Event> starts = new ArrayList<>();
    for (Event event : history.events()) {
      if (event.is("recv-start")) {
        starts.add(event);
        open.put(request(event), event);
      } else if (event.is("recv-end")) {
        Event start = open.remove(request(event));
        if (start != null) {
          ends.put(start.seq(), event);
        }
      }
    }
    for (Event start : starts) {
      deliveries
          .computeIfAbsent(start.need("task"), _ -> new ArrayList<>())
          .add(new Delivery(start, ends.get(start.seq())));
    }
  }

  private static String request(Event event) {
    return event.text("conn") + " " + event.need("task") + " " + event.text("fence");
  }

  private void pairFaults() {
    Map<String, Long> ends = new HashMap<>();
    for (Event event : history.events()) {
      if (event.is("fault-end")) {
        ends.put(faultId(event), event.wall());
      }
    }
    for (Event event : history.events()) {
      if (event.is("fault-start")) {
        long until = ends.getOrDefault(faultId(event), Long.MAX_VALUE);
        faults.add(new FaultPeriod(event.need("fault"), event.text("node"), event.wall(), until));
      }
    }
  }

  private static String faultId(Event event) {
    return event.need("fault") + " " + event.text("id");
  }

  History history() {
    return history;
  }

  /** Operations of one kind, ordered by start. */
  List<Op> ops(String what) {
    return ops.getOrDefault(what, List.of());
  }

  /** All operations. */
  List<Op> ops() {
    return ops.values().stream().flatMap(List::stream).toList();
  }

  /** Operations of one kind on a task, ordered by start. */
  List<Op> opsOf(String task, String what) {
    return opsOfTask.getOrDefault(task, List.of()).stream()
        .filter(op -> op.invoke().what().equals(what))
        .toList();
  }

  Map<String, Row> tasks() {
    return tasks;
  }

  @Nullable Row task(String id) {
    return tasks.get(id);
  }

  String tenantOf(Row row) {
    String id = row.need("tenant");
    return tenants.getOrDefault(id, id);
  }

  /** The changes of a task that the witness recorded, in order. */
  List<Row> changes(String task) {
    return changes.getOrDefault(task, List.of());
  }

  Map<String, List<Row>> changes() {
    return changes;
  }

  /** The change by which a claim took the task with this fence; null if the witness saw none. */
  @Nullable Row claim(String task, long fence) {
    for (Row change : changes(task)) {
      if ("RUNNING".equals(change.text("to_state"))
          && "PENDING".equals(change.text("from_state"))
          && change.number("to_fence") == fence) {
        return change;
      }
    }
    return null;
  }

  List<Row> attempts(String task) {
    return attempts.getOrDefault(task, List.of());
  }

  List<Row> transitions(String task) {
    return transitions.getOrDefault(task, List.of());
  }

  /** When nodes started the task as a suspect, in order. */
  List<Row> marks(String task) {
    return marks.getOrDefault(task, List.of());
  }

  /** Requests that reached any target for the task, including the poison target. */
  List<Event> calls(String task) {
    return calls.getOrDefault(task, List.of());
  }

  List<Delivery> deliveries(String task) {
    return deliveries.getOrDefault(task, List.of());
  }

  Map<String, List<Delivery>> deliveries() {
    return deliveries;
  }

  Map<String, List<WorkerClaim>> workerClaims() {
    return workerClaims;
  }

  List<WorkerClaim> workerClaims(String task) {
    return workerClaims.getOrDefault(task, List.of());
  }

  /**
   * The acknowledged submit of a task; null if its response was lost or a schedule created the
   * task.
   */
  @Nullable Op submitOf(String task) {
    return submitOf.get(task);
  }

  /** Tasks whose submit was acknowledged, ordered by submit. */
  Map<String, Op> acknowledged() {
    Map<String, Op> all = new LinkedHashMap<>();
    for (Op op : ops("submit")) {
      String id = op.text("id");
      if (op.isOk() && id != null) {
        all.putIfAbsent(id, op);
      }
    }
    return all;
  }

  /** All submits of one payload, which are repetitions of one request. */
  List<Op> submitsOfNumber(@Nullable String n) {
    return n == null ? List.of() : submitsByNumber.getOrDefault(n, List.of());
  }

  /** The submit of a task, with or without a response; null if there is none. */
  @Nullable Op origin(Row task) {
    Op known = submitOf(task.need("id"));
    List<Op> sameNumber = submitsOfNumber(task.text("n"));
    return known != null ? known : sameNumber.isEmpty() ? null : sameNumber.getFirst();
  }

  /** The target http, pull or discard; null if unknown. */
  @Nullable String target(Row task) {
    Op submit = origin(task);
    if (submit != null) {
      return submit.text("target");
    }
    Op put = schedulePut(task);
    return put == null ? null : put.text("target");
  }

  /** How many attempts the task may have. */
  long maxAttempts(Row task) {
    Long requested = requestedAttempts(task);
    return requested == null ? DEFAULT_ATTEMPTS : requested;
  }

  /** The requested limit of attempts; null if the request named none. */
  @Nullable Long requestedAttempts(Row task) {
    Op submit = origin(task);
    Op request = submit == null ? schedulePut(task) : submit;
    String attempts = request == null ? null : request.text("maxAttempts");
    return attempts == null ? null : Long.valueOf(attempts);
  }

  /** The first put of the schedule that created the task; null if none did. */
  @Nullable Op schedulePut(Row task) {
    return schedulePuts.get(tenantOf(task) + " " + task.text("schedule"));
  }

  /** Labels of the nodes that were started. */
  Set<String> labels() {
    return labels;
  }

  /** Whether the id belongs to a node with this label. */
  static boolean isOf(String id, String label) {
    return id.equals(label) || id.startsWith(label + "-");
  }

  List<FaultPeriod> faults() {
    return faults;
  }

  Fields options() {
    return options;
  }

  /** A node's lease in microseconds. Effects of a fault may last this long. */
  long lease() {
    return options.number("leaseMs", 3000) * 1000;
  }

  /** The timeout of an HTTP attempt, in microseconds. */
  long timeout() {
    return options.number("timeoutMs", 2000) * 1000;
  }

  /** When a phase started; null if it did not. */
  @Nullable Long phase(String name) {
    return first(
        event -> event.is("phase") && name.equals(event.text("name")) ? event.wall() : null);
  }

  private @Nullable Long first(Function<Event, @Nullable Long> found) {
    for (Event event : history.events()) {
      Long value = found.apply(event);
      if (value != null) {
        return value;
      }
    }
    return null;
  }

  /** The time of the last event. */
  long end() {
    return history.events().isEmpty() ? 0 : history.events().getLast().wall();
  }

  static long at(Row row) {
    Long at = row.micros("at");
    return at == null ? Long.MIN_VALUE : at;
  }

  /** Whether a redrive may have restarted the task between the two times. */
  boolean mayBeRedriven(String task, long from, long until) {
    return opsOf(task, "redrive").stream()
        .anyMatch(op -> op.mayHaveHappened() && op.began() <= until && op.ended() >= from);
  }
}
