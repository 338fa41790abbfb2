package carillon.api.deadletters;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.http.PathIds;
import carillon.api.http.Permission;
import carillon.api.json.Times;
import carillon.store.db.Page;
import carillon.store.deadletters.Redrive;
import carillon.store.deadletters.Redrives;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Shows redrives, and stops or undoes them. Redrives are started in {@link DeadLetterRoutes}. */
public final class RedriveRoutes {

  static final String PATH = "/v1/redrives";

  /** Steps of an undo that the request takes itself; the leader's loop takes the others. */
  private static final int MAX_UNDO_STEPS = 10;

  private final Redrives redrives;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;

  public RedriveRoutes(
      Redrives redrives, DatabaseGate database, Idempotency idempotency, Paging paging) {
    this.redrives = redrives;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get(PATH, Permission.TASKS_READ, Set.of("limit", "cursor"), this::list),
        Endpoint.get(PATH + "/{id}", Permission.TASKS_READ, this::show),
        Endpoint.post(PATH + "/{id}/stop", Permission.TASKS_OPERATE, this::stop),
        Endpoint.post(PATH + "/{id}/undo", Permission.TASKS_OPERATE, this::undo));
  }

  private Answer list(Call call) {
    requireAllTypes(call);
    int limit = call.query().limit();
    Redrives.Position before = paging.start(call, RedriveRoutes::position);
    Page<Redrive, Redrives.Position> page =
        database.use(() -> redrives.list(call.tenant(), limit, before));
    Redrives.Position next = page.next();
    return paging.answer(
        call,
        page.items().stream().map(RedriveRoutes::json).toList(),
        next == null ? null : next.at() + " " + next.id());
  }

  private static Redrives.@Nullable Position position(String text) {
    String[] parts = text.split(" ", -1);
    return parts.length == 2
        ? new Redrives.Position(Instant.parse(parts[0]), UUID.fromString(parts[1]))
        : null;
  }

  /** A redrive may contain tasks of any type. */
  private static void requireAllTypes(Call call) {
    if (!call.caller().types().isEmpty()) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE,
          "this key is limited to some types, but a redrive may contain any");
    }
  }

  private Answer show(Call call) {
    requireAllTypes(call);
    UUID id = PathIds.uuid(call, "redrive");
    return Answer.json(200, json(find(call, id)));
  }

  private Redrive find(Call call, UUID id) {
    return database
        .use(() -> redrives.find(call.tenant(), id))
        .orElseThrow(RedriveRoutes::notFound);
  }

  private Answer stop(Call call) {
    UUID id = PathIds.uuid(call, "redrive");
    call.noFields();
    return idempotency.run(
        call, tx -> changed(redrives.stop(tx, call.tenant(), id, call.caller().who())));
  }

  private Answer undo(Call call) {
    UUID id = PathIds.uuid(call, "redrive");
    call.noFields();
    Answer begun =
        idempotency.run(
            call, tx -> changed(redrives.undo(tx, call.tenant(), id, call.caller().who())));
    if (begun.status() == 200) {
      return begun; // already undone
    }
    // Each step is its own transaction. If this node dies in between, the leader's loop continues.
    var open = new Redrives.Open(call.tenant(), id);
    for (int steps = 0; steps < MAX_UNDO_STEPS; steps++) {
      if (database.use(() -> redrives.step(open)).isEmpty()) {
        break;
      }
    }
    return answer(find(call, id));
  }

  private static ApiException notFound() {
    return new ApiException(
        ErrorCode.NOT_FOUND, "no such redrive; redrives are deleted 7 days after they end");
  }

  private static Answer changed(Redrives.Result result) {
    return switch (result) {
      case Redrives.Result.Changed(var redrive) -> answer(redrive);
      case Redrives.Result.NotFound() -> throw notFound();
      case Redrives.Result.WrongState(var redrive) ->
          throw new ApiException(
              ErrorCode.WRONG_STATE,
              "the redrive is " + redrive.state() + "; only a RUNNING redrive can be stopped");
    };
  }

  private static Answer answer(Redrive redrive) {
    return Answer.json(redrive.state().isOver() ? 200 : 202, json(redrive));
  }

  private static ObjectNode json(Redrive redrive) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", redrive.id().toString());
    node.put("status", redrive.state().name());
    node.putRawValue("filter", new RawValue(redrive.filter()));
    if (redrive.groupError() != null) {
      node.put("groupError", redrive.groupError());
    }
    node.put("rate", redrive.rate());
    node.put("matched", redrive.matched());
    if (redrive.isAtLeast()) {
      node.put("atLeast", true);
    }
    node.put("redriven", redrive.redriven());
    node.put("refused", redrive.refused());
    node.put("undone", redrive.undone());
    if (redrive.waiting() != null) {
      node.put("waiting", redrive.waiting());
    }
    node.put("createdAt", Times.format(redrive.createdAt()));
    node.put("endedAt", Times.formatOrNull(redrive.endedAt()));
    node.put("by", redrive.who());
    return node;
  }
}
