package carillon.api.schedules;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.TenantFull;
import carillon.api.error.ValidationErrors;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.api.json.Fields;
import carillon.api.schema.PayloadSchemas;
import carillon.api.targets.TargetFields;
import carillon.api.tasks.FireCursor;
import carillon.api.tasks.TaskFields;
import carillon.api.tasks.TaskJson;
import carillon.api.tasks.TaskRoutes;
import carillon.model.TenantId;
import carillon.store.db.Page;
import carillon.store.schedules.RecordedFire;
import carillon.store.schedules.ScheduleView;
import carillon.store.schedules.Schedules;
import carillon.store.schedules.StoredSchedule;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Creates, shows, pauses, triggers and deletes schedules, and lists their fires. */
public final class ScheduleRoutes {

  private static final String ONE = "/v1/schedules/{name}";

  private final Schedules schedules;
  private final ScheduleFields reader;
  private final PayloadSchemas schemas;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;
  private final InstantSource clock;

  public ScheduleRoutes(
      Schedules schedules,
      ScheduleFields reader,
      PayloadSchemas schemas,
      DatabaseGate database,
      Idempotency idempotency,
      Paging paging,
      InstantSource clock) {
    this.schedules = schedules;
    this.reader = reader;
    this.schemas = schemas;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
    this.clock = clock;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get(
            "/v1/schedules",
            Permission.SCHEDULES_READ,
            Set.of("limit", "cursor", "view", "fires"),
            this::list),
        Endpoint.get(ONE, Permission.SCHEDULES_READ, this::show),
        Endpoint.put(ONE, Permission.SCHEDULES_CONFIGURE, this::put),
        Endpoint.delete(ONE, Permission.SCHEDULES_CONFIGURE, this::delete),
        Endpoint.post(ONE + "/pause", Permission.SCHEDULES_CONFIGURE, this::pause),
        Endpoint.post(ONE + "/resume", Permission.SCHEDULES_CONFIGURE, this::resume),
        Endpoint.post(ONE + "/trigger", Permission.SCHEDULES_CONFIGURE, this::trigger),
        Endpoint.get(
            ONE + "/fires",
            Permission.SCHEDULES_READ,
            Set.of("outcome", "from", "to", "limit", "cursor"),
            this::fires));
  }

  private Answer list(Call call) {
    boolean full = call.query().viewFull();
    Integer fires = call.query().integer("fires", 1, Limits.LISTED_FIRES);
    int limit = limit(call.query(), fires != null);
    String after = paging.start(call, text -> text);
    Page<StoredSchedule, String> page =
        database.use(() -> schedules.list(call.tenant(), limit, after, full));
    List<StoredSchedule> visible =
        page.items().stream().filter(stored -> isVisible(call, stored)).toList();
    Instant now = clock.instant();
    List<ObjectNode> items =
        visible.stream().map(stored -> ScheduleJson.item(stored, now, full)).toList();
    if (fires != null) {
      addFires(call, visible, items, fires);
    }
    return paging.answer(call, items, page.next());
  }

  private void addFires(Call call, List<StoredSchedule> shown, List<ObjectNode> items, int count) {
    Map<Long, List<RecordedFire>> newest =
        database.use(() -> schedules.newestFires(call.tenant(), shown, count));
    for (int i = 0; i < items.size(); i++) {
      StoredSchedule stored = shown.get(i);
      ScheduleJson.addFires(
          items.get(i), stored.schedule(), newest.getOrDefault(stored.id(), List.of()));
    }
  }

  /** Each fire costs a lookup of its task, so pages with fires have fewer schedules. */
  private static int limit(Query query, boolean withFires) {
    Integer limit =
        query.integer("limit", 1, withFires ? Limits.PAGE_ITEMS_DEFAULT : Limits.PAGE_ITEMS);
    return limit == null ? Limits.PAGE_ITEMS_DEFAULT : limit;
  }

  private static boolean isVisible(Call call, StoredSchedule stored) {
    return call.caller().hasAccess(stored.schedule().task().type());
  }

  private Answer show(Call call) {
    String name = ScheduleName.of(call);
    ScheduleView shown =
        database
            .use(() -> schedules.show(call.tenant(), name))
            .filter(found -> isVisible(call, found.stored()))
            .orElseThrow(ScheduleRoutes::notFound);
    return answer(200, shown);
  }

  private Answer answer(int status, ScheduleView shown) {
    return Answer.json(status, ScheduleJson.of(shown, clock.instant()))
        .withVersion(shown.stored().version());
  }

  private Answer put(Call call) {
    String name = ScheduleName.of(call);
    Schedules.Expected expected = expected(call);
    Fields fields = call.fields();
    Schedules.Wanted wanted = reader.read(fields, name, call.caller().grants());
    ScheduleFields.requireUnchanged(fields, () -> shown(call.tenant(), name));
    fields.errors().throwIfAny();
    schemas.validate(
        call.tenant(), wanted.schedule().task().type(), wanted.schedule().task().payload());
    String actor = call.caller().who();
    return changed(
        TenantFull.reportedAt(
            "/type",
            () ->
                TargetFields.reportingUnknownSecrets(
                    () ->
                        database.inTransaction(
                            tx -> schedules.put(tx, call.tenant(), wanted, actor, expected)))));
  }

  private @Nullable JsonNode shown(TenantId tenant, String name) {
    return database
        .use(() -> schedules.show(tenant, name))
        .map(shown -> ScheduleJson.of(shown, clock.instant()))
        .orElse(null);
  }

  private static Schedules.Expected expected(Call call) {
    Call.IfMatch ifMatch = call.ifMatch();
    return new Schedules.Expected(ifMatch.mustExist(), ifMatch.version());
  }

  private Answer delete(Call call) {
    String name = ScheduleName.of(call);
    Schedules.Expected expected = expected(call);
    return changed(
        database.inTransaction(
            tx -> schedules.delete(tx, call.tenant(), name, call.caller().who(), expected)));
  }

  private Answer pause(Call call) {
    String name = ScheduleName.of(call);
    Schedules.Expected expected = expected(call);
    String reason = optional(call, fields -> fields.text("reason", Limits.REASON_CHARS));
    String actor = call.caller().who();
    return idempotency.run(
        call, tx -> changed(schedules.pause(tx, call.tenant(), name, reason, actor, expected)));
  }

  private Answer resume(Call call) {
    String name = ScheduleName.of(call);
    Schedules.Expected expected = expected(call);
    call.noFields();
    String actor = call.caller().who();
    return idempotency.run(
        call, tx -> changed(schedules.resume(tx, call.tenant(), name, actor, expected)));
  }

  private Answer trigger(Call call) {
    String name = ScheduleName.of(call);
    String payload = optional(call, TaskFields::payload);
    return idempotency.run(
        call,
        tx -> {
          Schedules.Result result =
              schedules.trigger(tx, call.tenant(), name, payload, call.caller().who());
          if (payload != null && result instanceof Schedules.Result.Triggered(var task)) {
            schemas.validate(call.tenant(), task); // an exception rolls the task back
          }
          return changed(result);
        });
  }

  /** Reads one field of a body. */
  private interface FieldReader {
    @Nullable String from(Fields fields);
  }

  /** The only field of an optional body. */
  private static @Nullable String optional(Call call, FieldReader reader) {
    if (!call.body().isPresent()) {
      return null;
    }
    Fields fields = call.fields();
    String value = reader.from(fields);
    fields.done();
    fields.errors().throwIfAny();
    return value;
  }

  private Answer changed(Schedules.Result result) {
    return switch (result) {
      case Schedules.Result.Saved(var shown, var created) -> {
        Answer answer = answer(created ? 201 : 200, shown);
        yield created
            ? answer.with("Location", "/v1/schedules/" + shown.stored().schedule().name())
            : answer;
      }
      case Schedules.Result.Deleted() -> Answer.noContent();
      case Schedules.Result.Triggered(var task) ->
          Answer.json(202, TaskJson.of(task))
              .with("Location", "/v1/tasks/" + task.id())
              .withVersion(task.version());
      case Schedules.Result.NotFound() -> throw notFound();
      case Schedules.Result.StaleVersion(var version) ->
          throw new ApiException(
              ErrorCode.STALE_VERSION,
              version == null
                  ? "schedule not found"
                  : "the schedule is now at version " + version + "; read it again");
      case Schedules.Result.UnknownType(var type) ->
          throw mistake("/type", ErrorCode.UNKNOWN_TYPE, TaskRoutes.unknownType(type));
      case Schedules.Result.EndIsOver() ->
          throw mistake("/endAt", ErrorCode.OUT_OF_RANGE, "must be in the future");
    };
  }

  private static ApiException mistake(String pointer, ErrorCode code, String message) {
    return ValidationErrors.one(new FieldError(pointer, code.code(), message));
  }

  private Answer fires(Call call) {
    String name = ScheduleName.of(call);
    Query query = call.query();
    RecordedFire.Filter filter =
        new RecordedFire.Filter(hasTask(query), query.time("from"), query.time("to"));
    int limit = query.limit();
    String path = "/v1/schedules/" + name + "/fires";
    RecordedFire.Position before = paging.start(call, path, FireCursor::read);
    StoredSchedule stored =
        database
            .use(() -> schedules.find(call.tenant(), name))
            .filter(found -> isVisible(call, found))
            .orElseThrow(ScheduleRoutes::notFound);
    Page<RecordedFire, RecordedFire.Position> page =
        database.use(() -> schedules.fires(stored, filter, limit, before));
    RecordedFire.Position next = page.next();
    return paging.answer(
        call,
        path,
        page.items().stream().map(fire -> ScheduleJson.fire(fire, stored.schedule())).toList(),
        next == null ? null : FireCursor.text(next));
  }

  private static @Nullable Boolean hasTask(Query query) {
    return switch (query.text("outcome", 20)) {
      case null -> null;
      case "task" -> true;
      case "skipped" -> false;
      default -> throw Query.wrong("outcome", ErrorCode.INVALID_VALUE, "must be task or skipped");
    };
  }

  private static ApiException notFound() {
    return new ApiException(ErrorCode.NOT_FOUND, "schedule not found");
  }
}
