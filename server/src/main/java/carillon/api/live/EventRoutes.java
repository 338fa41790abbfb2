package carillon.api.live;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.http.Query;
import carillon.model.Echo;
import carillon.model.TaskId;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Streams events to clients. */
public final class EventRoutes {

  static final String MEDIA_TYPE = "text/event-stream";

  private final Broadcast broadcast;

  public EventRoutes(Broadcast broadcast) {
    this.broadcast = broadcast;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get(
            "/v1/events", Permission.TASKS_READ, Set.of("type", "id", "stats"), this::watch));
  }

  private Answer watch(Call call) {
    Query query = call.query();
    String type = query.typeName("type");
    if (type != null) {
      call.caller().requireAccess(type);
    }
    var filter = new EventStream.Filter(type, ids(query), wantsStats(query));
    return Answer.live(MEDIA_TYPE, broadcast.open(call.caller(), call::callerNow, filter))
        .with("X-Accel-Buffering", "no"); // proxies must not buffer events
  }

  private static Set<TaskId> ids(Query query) {
    String list = query.someText("id", Limits.REQUEST_LINE_BYTES);
    if (list == null) {
      return Set.of();
    }
    String[] given = list.split(",", -1);
    if (given.length > Limits.WATCHED_TASKS) {
      throw Query.wrong(
          "id", ErrorCode.TOO_LONG, "must have at most " + Limits.WATCHED_TASKS + " IDs");
    }
    Set<TaskId> ids = new HashSet<>();
    for (String id : given) {
      ids.add(
          TaskId.parse(id)
              .orElseThrow(
                  () ->
                      Query.wrong("id", ErrorCode.INVALID_ID, Echo.of(id) + " is not a task ID")));
    }
    return ids;
  }

  private static boolean wantsStats(Query query) {
    String stats = query.text("stats", 10);
    if (stats != null && !stats.equals("true") && !stats.equals("false")) {
      throw Query.wrong("stats", ErrorCode.INVALID_VALUE, "must be true or false");
    }
    return !"false".equals(stats);
  }
}
