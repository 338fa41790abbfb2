package carillon.api;

import carillon.model.TaskId;
import carillon.store.DeadLetters;
import carillon.store.Page;
import carillon.store.TaskView;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Lists dead letters, and redrives or purges them in bulk. */
final class DeadLetterRoutes {

  private static final Set<String> FILTERS =
      Set.of("type", "error", "diedAfter", "diedBefore", "limit", "cursor", "view");

  private static final int MAX_TEXT = 200;
  private static final int MAX_IDS = 10_000;
  private static final int MAX_RATE = 10_000;

  private final DeadLetters deadLetters;
  private final DatabaseGate database;
  private final Once once;
  private final Lists lists;

  DeadLetterRoutes(DeadLetters deadLetters, DatabaseGate database, Once once, Lists lists) {
    this.deadLetters = deadLetters;
    this.database = database;
    this.once = once;
    this.lists = lists;
  }

  List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/dead-letters", Permission.TASKS_READ, FILTERS, this::list),
        Endpoint.post("/v1/dead-letters/redrive", Permission.TASKS_OPERATE, this::redrive),
        Endpoint.post("/v1/dead-letters/purge", Permission.TASKS_OPERATE, this::purge));
  }

  private static final DeadLetters.Filter EVERYTHING =
      new DeadLetters.Filter(null, null, null, null, List.of());

  private Answer list(Call call) {
    Query query = call.query();
    DeadLetters.Filter filter =
        new DeadLetters.Filter(
            TaskRoutes.oneType(call.caller(), query.typeName("type")),
            query.text("error", MAX_TEXT),
            query.time("diedAfter"),
            query.time("diedBefore"),
            List.of());
    int limit = query.limit();
    boolean full = query.viewFull();
    DeadLetters.Position before = lists.start(call, DeadLetterRoutes::position);
    Page<TaskView, DeadLetters.Position> page =
        database.use(() -> deadLetters.list(call.tenant(), filter, limit, before, full));
    Function<TaskView, ObjectNode> render = full ? TaskJson::of : TaskJson::withoutPayload;
    DeadLetters.Position next = page.next();
    return lists.answer(
        call,
        page.items().stream().map(render).toList(),
        next == null ? null : next.diedAt() + " " + next.id());
  }

  private static DeadLetters.@Nullable Position position(String text) {
    String[] parts = text.split(" ", 2);
    TaskId id = TaskId.parse(parts[parts.length - 1]).orElse(null);
    // Instant.toString keeps what the database has, down to the microsecond; cursors are ours, so
    // it parses.
    return id == null ? null : new DeadLetters.Position(Instant.parse(parts[0]), id);
  }

  private Answer redrive(Call call) {
    Fields fields = call.fields();
    DeadLetters.Filter filter = filter(fields);
    Integer rate = rate(fields);
    boolean all = Boolean.TRUE.equals(fields.bool("all"));
    fields.done();
    refuseUnsaid(filter, all, fields);
    fields.mistakes().refuse();
    return once.run(
        call,
        tx -> {
          DeadLetters.Done done =
              deadLetters.redrive(tx, call.tenant(), filter, rate, call.caller().who());
          return Answer.json(200, counted(done, "redriven"));
        });
  }

  private Answer purge(Call call) {
    Fields fields = call.fields();
    DeadLetters.Filter filter = filter(fields);
    boolean all = Boolean.TRUE.equals(fields.bool("all"));
    fields.done();
    refuseUnsaid(filter, all, fields);
    fields.mistakes().refuse();
    return once.run(
        call,
        tx ->
            Answer.json(
                200,
                counted(
                    deadLetters.purge(tx, call.tenant(), filter, call.caller().who()), "purged")));
  }

  /** Saying nothing is not saying all. */
  private static void refuseUnsaid(DeadLetters.Filter filter, boolean all, Fields fields) {
    if (!all && filter.equals(EVERYTHING) && fields.mistakes().none()) {
      throw new ApiException(
          ErrorCode.FILTER_REQUIRED,
          "say which dead letters: type, error, diedAfter, diedBefore, ids, or \"all\": true");
    }
  }

  private static ObjectNode counted(DeadLetters.Done done, String what) {
    return JsonNodeFactory.instance
        .objectNode()
        .put("matched", done.matched())
        .put(what, done.done());
  }

  private static DeadLetters.Filter filter(Fields fields) {
    return new DeadLetters.Filter(
        fields.typeName("type"),
        fields.text("error", MAX_TEXT),
        fields.time("diedAfter"),
        fields.time("diedBefore"),
        fields.ids("ids", MAX_IDS));
  }

  /** A number per second, or {@code {"limit", "per"}} that comes to at least one. */
  private static @Nullable Integer rate(Fields fields) {
    if (!fields.isObject("rate")) {
      return fields.integer("rate", 1, MAX_RATE);
    }
    Fields rate = fields.object("rate");
    if (rate == null) {
      return null;
    }
    Integer limit = rate.required("limit", rate.integer("limit", 1, Integer.MAX_VALUE));
    Duration per = rate.duration("per", Duration.ofMillis(1), Duration.ofDays(1));
    rate.done();
    if (limit == null) {
      return null;
    }
    long perSecond = limit * 1000L / (per == null ? 1000L : per.toMillis());
    if (perSecond < 1 || perSecond > MAX_RATE) {
      fields.wrong("rate", ErrorCode.OUT_OF_RANGE, "must come to 1 to " + MAX_RATE + " per second");
    }
    return (int) perSecond;
  }
}
