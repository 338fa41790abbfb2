package carillon.api.schedules;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.ValidationErrors;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.http.PathIds;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.api.json.Times;
import carillon.model.schedule.OverlapRule;
import carillon.store.db.Page;
import carillon.store.schedules.Backfill;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.StoredSchedule;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Starts, shows and stops backfills of schedules. */
public final class BackfillRoutes {

  private static final String SCHEDULE = "/v1/schedules/{name}";

  /** Counting nominal times may occupy a core for seconds. */
  private static final int MAX_CONCURRENT_COUNTS = 2;

  private final Backfills backfills;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;
  private final Semaphore counts = new Semaphore(MAX_CONCURRENT_COUNTS);

  public BackfillRoutes(
      Backfills backfills, DatabaseGate database, Idempotency idempotency, Paging paging) {
    this.backfills = backfills;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post(SCHEDULE + "/backfill", Permission.SCHEDULES_CONFIGURE, this::start),
        Endpoint.get(
            SCHEDULE + "/backfills",
            Permission.SCHEDULES_READ,
            Set.of("limit", "cursor"),
            this::list),
        Endpoint.get(SCHEDULE + "/backfills/{id}", Permission.SCHEDULES_READ, this::show),
        Endpoint.post(
            SCHEDULE + "/backfills/{id}/stop", Permission.SCHEDULES_CONFIGURE, this::stop));
  }

  private Answer start(Call call) {
    String name = ScheduleName.of(call);
    Fields fields = call.fields();
    Instant from = fields.required("from", fields.time("from"));
    Instant to = fields.required("to", fields.time("to"));
    OverlapRule overlap = overlap(fields);
    boolean again = Boolean.TRUE.equals(fields.bool("again"));
    boolean isDryRun = Boolean.TRUE.equals(fields.bool("dryRun"));
    fields.done();
    if (from != null && to != null && from.isAfter(to)) {
      fields.wrong("to", ErrorCode.INVALID_VALUE, "is before from");
    }
    fields.errors().throwIfAny();
    if (from == null || to == null) {
      throw new IllegalStateException("rejected above");
    }
    var asked = new Backfills.Request(from, to, overlap, again);
    Backfills.Check check = database.use(() -> backfills.check(call.tenant(), name, asked));
    Prepared prepared = prepare(check, asked, isDryRun);
    return idempotency.run(
        call,
        tx ->
            answer(
                switch (prepared) {
                  case Prepared.Done(var result) -> result;
                  case Prepared.Ready(var range) -> backfills.start(tx, range, call.caller().who());
                }));
  }

  /** Determined before the transaction, in which a stored idempotent response takes precedence. */
  private sealed interface Prepared {
    record Done(Backfills.Result result) implements Prepared {}

    record Ready(Backfills.Range range) implements Prepared {}
  }

  private Prepared prepare(Backfills.Check check, Backfills.Request asked, boolean isDryRun) {
    return switch (check) {
      case Backfills.Check.Refused(var why) -> new Prepared.Done(why);
      case Backfills.Check.Valid(var schedule) ->
          DatabaseGate.holding(
              counts,
              () -> {
                Backfills.Range range = backfills.count(schedule, asked).orElse(null);
                if (range == null) {
                  return new Prepared.Done(new Backfills.Result.TooManyTimes());
                }
                return isDryRun
                    ? new Prepared.Done(database.use(() -> backfills.dryRun(range)))
                    : new Prepared.Ready(range);
              });
    };
  }

  private static OverlapRule overlap(Fields fields) {
    String label = fields.string("overlap");
    if (label == null) {
      return OverlapRule.QUEUE;
    }
    OverlapRule rule = OverlapRule.labelled(label).orElse(null);
    if (rule != OverlapRule.QUEUE && rule != OverlapRule.ALLOW) {
      fields.wrong("overlap", ErrorCode.INVALID_VALUE, "must be one of queue, allow");
      return OverlapRule.QUEUE;
    }
    return rule;
  }

  private Answer list(Call call) {
    String name = ScheduleName.of(call);
    int limit = call.query().limit();
    Backfills.Position before = paging.start(call, BackfillRoutes::position);
    StoredSchedule schedule =
        database
            .use(() -> backfills.schedule(call.tenant(), name))
            .filter(found -> call.caller().hasAccess(found.schedule().task().type()))
            .orElseThrow(BackfillRoutes::noSchedule);
    Page<Backfill, Backfills.Position> page =
        database.use(() -> backfills.list(schedule, limit, before));
    Backfills.Position next = page.next();
    return paging.answer(
        call,
        page.items().stream().map(BackfillRoutes::json).toList(),
        next == null ? null : next.at() + " " + next.id());
  }

  private static Backfills.@Nullable Position position(String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 2
        ? new Backfills.Position(Instant.parse(parts[0]), UUID.fromString(parts[1]))
        : null;
  }

  private Answer show(Call call) {
    String name = ScheduleName.of(call);
    UUID id = PathIds.uuid(call, "backfill");
    Backfill backfill =
        database
            .use(() -> backfills.find(call.tenant(), name, id))
            .filter(found -> call.caller().hasAccess(found.type()))
            .orElseThrow(BackfillRoutes::notFound);
    return Answer.json(200, json(backfill));
  }

  private Answer stop(Call call) {
    String name = ScheduleName.of(call);
    UUID id = PathIds.uuid(call, "backfill");
    call.noFields();
    return idempotency.run(
        call,
        tx ->
            switch (backfills.stop(tx, call.tenant(), name, id, call.caller().who())) {
              case Backfills.Result.NotFound() -> throw notFound();
              case Backfills.Result.Saved(var backfill) -> Answer.json(200, json(backfill));
              case Backfills.Result other -> answer(other);
            });
  }

  private static Answer answer(Backfills.Result result) {
    return switch (result) {
      case Backfills.Result.Saved(var backfill) ->
          Answer.json(202, json(backfill))
              .with(
                  "Location",
                  "/v1/schedules/" + backfill.schedule() + "/backfills/" + backfill.id());
      case Backfills.Result.Counted(int times, int existing) ->
          Answer.json(
              200,
              JsonNodeFactory.instance.objectNode().put("times", times).put("existing", existing));
      case Backfills.Result.NotFound() -> throw noSchedule();
      case Backfills.Result.WrongState(var backfill) ->
          throw new ApiException(
              ErrorCode.WRONG_STATE,
              "the backfill is " + backfill.state() + "; only RUNNING ones can be stopped");
      case Backfills.Result.NotPast(var now) ->
          throw ValidationErrors.one(
              new FieldError(
                  "/to",
                  ErrorCode.OUT_OF_RANGE.code(),
                  "must be in the past, and it is "
                      + Times.format(now)
                      + "; the schedule itself fires later times"));
      case Backfills.Result.Forgotten(var known) ->
          throw ValidationErrors.one(
              new FieldError(
                  "/from",
                  ErrorCode.OUT_OF_RANGE.code(),
                  "fires before "
                      + Times.format(known)
                      + " are no longer recorded; start there, or set \"again\": true if it is safe"
                      + " to run earlier times a second time"));
      case Backfills.Result.TooManyTimes() ->
          throw ValidationErrors.one(
              new FieldError(
                  "/from",
                  ErrorCode.TOO_MANY.code(),
                  "the schedule fires more than "
                      + Backfills.MAX_TIMES
                      + " times from here to \"to\", or too often to be counted; start several"
                      + " backfills of shorter ranges"));
      case Backfills.Result.TooManyOpen() ->
          throw new ApiException(
              ErrorCode.TOO_MANY_BACKFILLS,
              "this tenant has "
                  + Backfills.MAX_OPEN
                  + " running backfills; stop one, or wait until one ends");
    };
  }

  private static ApiException noSchedule() {
    return new ApiException(ErrorCode.NOT_FOUND, "schedule not found");
  }

  private static ApiException notFound() {
    return new ApiException(
        ErrorCode.NOT_FOUND,
        "this schedule has no such backfill, or it ended more than 7 days ago");
  }

  private static ObjectNode json(Backfill backfill) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", backfill.id().toString());
    node.put("schedule", backfill.schedule());
    node.put("status", backfill.state().name());
    node.put("from", Times.format(backfill.from()));
    node.put("to", Times.format(backfill.to()));
    node.put("overlap", backfill.overlap().label());
    node.put("times", backfill.times());
    node.put("created", backfill.created());
    node.put("existing", backfill.existing());
    node.put("skipped", backfill.skipped());
    node.put("createdAt", Times.format(backfill.createdAt()));
    node.put("createdBy", backfill.createdBy());
    node.put("finishedAt", Times.formatOrNull(backfill.finishedAt()));
    return node;
  }
}
