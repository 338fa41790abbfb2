package carillon.client;

import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A schedule to create or replace. Immutable: every method returns a changed copy.
 *
 * <pre>{@code
 * NewSchedule.cron("nightly", "0 2 * * *").timezone("Europe/Berlin").type("report")
 * }</pre>
 */
public final class NewSchedule {

  private final String name;
  private final Map<String, Object> fields;

  private NewSchedule(String name, Map<String, Object> fields) {
    this.name = name;
    this.fields = fields;
  }

  /** A schedule with a cron expression of 5 fields, or 6 with seconds first. */
  public static NewSchedule cron(String name, String expression) {
    return new NewSchedule(name, Map.of("cron", expression));
  }

  /** A schedule with a fixed interval. */
  public static NewSchedule every(String name, Duration span) {
    return new NewSchedule(name, Map.of("every", span.toString()));
  }

  /** Sets the task type; required. */
  public NewSchedule type(String type) {
    return field("type", type);
  }

  /** Sets the time zone, such as Europe/Berlin. Default: UTC. */
  public NewSchedule timezone(String zone) {
    return field("timezone", zone);
  }

  /** Sets the payload of the tasks: any value that the mapper can write as JSON. */
  public NewSchedule payload(@Nullable Object payload) {
    return field("payload", payload == null ? JsonNodeFactory.instance.nullNode() : payload);
  }

  /** Sets the business key of the tasks. */
  public NewSchedule key(String key) {
    return field("key", key);
  }

  /** Sets the priority of the tasks, 0 to 9; higher is more urgent. */
  public NewSchedule priority(int priority) {
    return field("priority", priority);
  }

  /** Sets the target of the tasks, in the format of the API. Default: from the type. */
  public NewSchedule target(Object target) {
    return field("target", target);
  }

  /** Sets the overlap policy: skip, allow, queue or cancelPrevious. */
  public NewSchedule overlap(String rule) {
    return field("overlap", rule);
  }

  /** Sets the catch-up policy for missed runs: none, last or all. */
  public NewSchedule catchUp(String rule) {
    return field("catchUp", rule);
  }

  /** No runs before this time. */
  public NewSchedule startAt(Instant time) {
    return field("startAt", time.toString());
  }

  /** No runs after this time. */
  public NewSchedule endAt(Instant time) {
    return field("endAt", time.toString());
  }

  /** Whether to create it paused. */
  public NewSchedule paused(boolean paused) {
    return field("paused", paused);
  }

  /** Sets any other field of the API. */
  public NewSchedule field(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(fields);
    more.put(name, value);
    return new NewSchedule(this.name, Collections.unmodifiableMap(more));
  }

  /** The name. */
  public String name() {
    return name;
  }

  /** The request body. */
  public ObjectNode json(JsonMapper mapper) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    fields.forEach((field, value) -> json.set(field, mapper.valueToTree(value)));
    return json;
  }
}
