package carillon.api.deadletters;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.LargePages;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.api.json.Fields;
import carillon.api.json.Times;
import carillon.api.tasks.TaskJson;
import carillon.api.tasks.TaskRoutes;
import carillon.model.TaskId;
import carillon.store.db.Page;
import carillon.store.db.Tx;
import carillon.store.deadletters.DeadLetterFilter;
import carillon.store.deadletters.DeadLetterGroup;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrive;
import carillon.store.deadletters.Redrives;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Lists dead letters and their groups, and redrives or purges them in bulk. */
public final class DeadLetterRoutes {

  private static final Set<String> FILTERS =
      Set.of(
          "type",
          "failure",
          "status",
          "error",
          "diedAfter",
          "diedBefore",
          "key",
          Query.METADATA,
          "group",
          "limit",
          "cursor",
          "view");

  private static final Set<String> GROUP_FILTERS =
      Set.of("type", "failure", "status", "limit", "cursor");

  private static final int MAX_RATE = 10_000;

  /** How long one request purges, one transaction after the other. */
  private static final Duration PURGE_TIMEOUT = Duration.ofSeconds(4);

  private final DeadLetters deadLetters;
  private final Redrives redrives;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;

  public DeadLetterRoutes(
      DeadLetters deadLetters,
      Redrives redrives,
      DatabaseGate database,
      Idempotency idempotency,
      Paging paging) {
    this.deadLetters = deadLetters;
    this.redrives = redrives;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/dead-letters", Permission.TASKS_READ, FILTERS, this::list),
        Endpoint.get("/v1/dead-letters/groups", Permission.TASKS_READ, GROUP_FILTERS, this::groups),
        Endpoint.post("/v1/dead-letters/redrive", Permission.TASKS_OPERATE, this::redrive),
        Endpoint.post("/v1/dead-letters/purge", Permission.TASKS_OPERATE, this::purge));
  }

  private Answer list(Call call) {
    Query query = call.query();
    DeadLetterFilter filter =
        DeadLetterFields.read(query, TaskRoutes.oneType(call.caller(), query.typeName("type")));
    int limit = query.limit();
    boolean full = query.viewFull();
    DeadLetters.Position before = paging.start(call, DeadLetterRoutes::position);
    Page<DeadLetters.Letter, DeadLetters.Position> page =
        LargePages.read(
            call,
            limit,
            full,
            before,
            (some, from) ->
                database.use(() -> deadLetters.list(call.tenant(), filter, some, from, full)),
            letter -> LargePages.bytes(letter.task()));
    DeadLetters.Position next = page.next();
    return paging.answer(
        call,
        page.items().stream().map(letter -> json(letter, full)).toList(),
        next == null ? null : next.diedAt() + " " + next.id());
  }

  private static ObjectNode json(DeadLetters.Letter letter, boolean full) {
    ObjectNode node = full ? TaskJson.of(letter.task()) : TaskJson.withoutPayload(letter.task());
    return node.put("diedAt", Times.format(letter.diedAt())).put("group", letter.group());
  }

  private static DeadLetters.@Nullable Position position(String text) {
    String[] parts = text.split(" ", 2);
    TaskId id = TaskId.parse(parts[parts.length - 1]).orElse(null);
    // Instant.toString keeps the database's microseconds. Cursors are signed by us, so this parses.
    return id == null ? null : new DeadLetters.Position(Instant.parse(parts[0]), id);
  }

  private Answer groups(Call call) {
    Query query = call.query();
    DeadLetterGroup.Filter filter =
        new DeadLetterGroup.Filter(
            TaskRoutes.oneType(call.caller(), query.typeName("type")),
            DeadLetterFields.failure(query),
            DeadLetterFields.status(query));
    int limit = query.limit();
    DeadLetterGroup.Position before = paging.start(call, DeadLetterRoutes::groupPosition);
    Page<DeadLetterGroup, DeadLetterGroup.Position> page =
        database.use(() -> deadLetters.groups(call.tenant(), filter, limit, before));
    DeadLetterGroup.Position next = page.next();
    return paging.answer(
        call,
        page.items().stream().map(DeadLetterRoutes::json).toList(),
        next == null ? null : next.lastAt() + " " + next.type() + " " + next.fingerprint());
  }

  private static ObjectNode json(DeadLetterGroup group) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("type", group.type());
    node.put("group", group.fingerprint());
    node.put("failure", group.failure() == null ? null : group.failure().label());
    node.put("status", group.status());
    node.put("error", group.error());
    node.put("letters", group.letters());
    node.put("deaths", group.deaths());
    node.put("firstSeenAt", Times.format(group.firstAt()));
    node.put("lastSeenAt", Times.format(group.lastAt()));
    return node;
  }

  private static DeadLetterGroup.@Nullable Position groupPosition(String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 3
        ? new DeadLetterGroup.Position(Instant.parse(parts[0]), parts[1], parts[2])
        : null;
  }

  private Answer redrive(Call call) {
    Fields fields = call.fields();
    DeadLetterFilter filter = DeadLetterFields.read(fields);
    Integer rate = rate(fields);
    boolean dryRun = Boolean.TRUE.equals(fields.bool("dryRun"));
    requireFilter(filter, fields);
    return idempotency.run(
        call,
        tx ->
            dryRun
                ? Answer.json(200, counted(tx, call, filter, "redriven"))
                : redrives
                    .start(tx, call.tenant(), filter, rate, call.caller().who())
                    .map(DeadLetterRoutes::started)
                    .orElseThrow(DeadLetterRoutes::tooMany));
  }

  private static ApiException tooMany() {
    return new ApiException(
        ErrorCode.TOO_MANY_REDRIVES,
        Redrives.MAX_OPEN + " redrives are running; wait until one ends, or stop one");
  }

  private static Answer started(Redrive redrive) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("matched", redrive.matched());
    if (redrive.isAtLeast()) {
      node.put("atLeast", true);
    }
    node.put("redriven", redrive.redriven());
    node.put("refused", redrive.refused());
    node.put("id", redrive.id().toString());
    node.put("status", redrive.state().name());
    return Answer.json(redrive.state().isOver() ? 200 : 202, node)
        .with("Location", RedriveRoutes.PATH + "/" + redrive.id());
  }

  private ObjectNode counted(Tx tx, Call call, DeadLetterFilter filter, String what) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    put(node, deadLetters.count(tx, call.tenant(), filter));
    return node.put(what, 0).put("dryRun", true);
  }

  private static void put(ObjectNode node, DeadLetters.Count count) {
    node.put("matched", count.matched());
    if (count.isAtLeast()) {
      node.put("atLeast", true);
    }
  }

  private Answer purge(Call call) {
    Fields fields = call.fields();
    DeadLetterFilter filter = DeadLetterFields.read(fields);
    boolean dryRun = Boolean.TRUE.equals(fields.bool("dryRun"));
    requireFilter(filter, fields);
    if (dryRun) {
      return idempotency.run(call, tx -> Answer.json(200, counted(tx, call, filter, "purged")));
    }
    String who = call.caller().who();
    // The response under an idempotency key is stored by the transaction that it describes, so a
    // request with a key purges in one transaction.
    return call.idempotencyKey() == null
        ? purged(database.use(() -> deadLetters.purge(call.tenant(), filter, PURGE_TIMEOUT, who)))
        : idempotency.run(call, tx -> purged(deadLetters.purge(tx, call.tenant(), filter, who)));
  }

  private static Answer purged(DeadLetters.Purged done) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    put(node, done.count());
    node.put("purged", done.purged());
    if (done.hasMore()) {
      node.put("more", true);
    }
    return Answer.json(200, node);
  }

  /** An empty filter is an error, not "all". */
  private static void requireFilter(DeadLetterFilter filter, Fields fields) {
    boolean all = Boolean.TRUE.equals(fields.bool("all"));
    fields.done();
    if (!all && filter.equals(DeadLetterFilter.ALL) && fields.errors().isEmpty()) {
      throw new ApiException(
          ErrorCode.FILTER_REQUIRED,
          "specify which dead letters: type, failure, status, error, diedAfter, diedBefore, key,"
              + " metadata, group, ids, or \"all\": true");
    }
    fields.errors().throwIfAny();
  }

  /** A number per second, or {@code {"limit", "per"}} of at least one per second. */
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
      fields.wrong("rate", ErrorCode.OUT_OF_RANGE, "must be 1 to " + MAX_RATE + " per second");
    }
    return (int) perSecond;
  }
}
