package carillon.api.schedules;

import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Recurrence;
import carillon.model.cron.Timetable;
import carillon.model.cron.Zones;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Shows when a rule would fire, before a schedule is created. */
public final class PreviewRoute {

  private static final int DEFAULT_COUNT = 5;

  private final InstantSource clock;

  public PreviewRoute(InstantSource clock) {
    this.clock = clock;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/schedules/preview", Permission.SCHEDULES_READ, this::preview));
  }

  private Answer preview(Call call) {
    Fields fields = call.fields();
    String name = ScheduleName.read(fields);
    RuleFields.Rule rule = RuleFields.read(fields, name);
    int count = count(fields);
    Instant given = fields.time("from");
    fields.done();
    fields.errors().throwIfAny();

    Recurrence recurrence = Objects.requireNonNull(rule.recurrence());
    Instant from = given == null ? clock.instant() : given;
    Timetable timetable = recurrence.timetable(rule.zone(), rule.dst(), anchor(rule, from));
    List<NominalTime> times =
        NextRuns.all(timetable, NextRuns.Span.of(from, rule.startAt(), rule.endAt()), count);
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("description", recurrence.description());
    node.put("timezone", rule.zone().getId());
    node.put("timezoneData", Zones.dataVersion());
    node.set("nextRuns", ScheduleJson.preview(times, rule.zone(), rule.dst()));
    return Answer.json(200, node);
  }

  private static int count(Fields fields) {
    Integer count = fields.integer("count", 1, Limits.PREVIEWED, ErrorCode.TOO_MANY);
    return count == null ? DEFAULT_COUNT : count;
  }

  /** The anchor of a schedule created at that moment. */
  private static Instant anchor(RuleFields.Rule rule, Instant from) {
    @Nullable Instant startAt = rule.startAt();
    return startAt == null ? from.truncatedTo(ChronoUnit.SECONDS) : startAt;
  }
}
