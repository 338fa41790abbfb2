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
 * A schedule to be made or replaced. Immutable: every method returns a copy with one thing more.
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

  /** One that fires by a cron expression of 5 fields, or 6 with seconds first. */
  public static NewSchedule cron(String name, String expression) {
    return new NewSchedule(name, Map.of("cron", expression));
  }

  /** One that fires again and again after this span. */
  public static NewSchedule every(String name, Duration span) {
    return new NewSchedule(name, Map.of("every", span.toString()));
  }

  /** Makes tasks of this type; needed. */
  public NewSchedule type(String type) {
    return field("type", type);
  }

  /** In this time zone, such as Europe/Berlin; UTC unless said. */
  public NewSchedule timezone(String zone) {
    return field("timezone", zone);
  }

  /** Makes tasks with this payload: anything that the mapper writes as JSON. */
  public NewSchedule payload(@Nullable Object payload) {
    return field("payload", payload == null ? JsonNodeFactory.instance.nullNode() : payload);
  }

  /** Makes tasks with this business key. */
  public NewSchedule key(String key) {
    return field("key", key);
  }

  /** Makes tasks of this urgency, 0 to 9. */
  public NewSchedule priority(int priority) {
    return field("priority", priority);
  }

  /** Makes tasks with this target instead of their type's, as the API takes it. */
  public NewSchedule target(Object target) {
    return field("target", target);
  }

  /** What to do while the previous task runs: skip, allow, queue or cancelPrevious. */
  public NewSchedule overlap(String rule) {
    return field("overlap", rule);
  }

  /** What to do about fires that were missed: none, last or all. */
  public NewSchedule catchUp(String rule) {
    return field("catchUp", rule);
  }

  /** Does not fire before this time. */
  public NewSchedule startAt(Instant time) {
    return field("startAt", time.toString());
  }

  /** Does not fire after this time. */
  public NewSchedule endAt(Instant time) {
    return field("endAt", time.toString());
  }

  /** Whether it rests from the start. */
  public NewSchedule paused(boolean paused) {
    return field("paused", paused);
  }

  /** With any other field of the API. */
  public NewSchedule field(String name, Object value) {
    Map<String, Object> more = new LinkedHashMap<>(fields);
    more.put(name, value);
    return new NewSchedule(this.name, Collections.unmodifiableMap(more));
  }

  /** The name. */
  public String name() {
    return name;
  }

  /** The body of the request that makes it. */
  public ObjectNode json(JsonMapper mapper) {
    ObjectNode json = JsonNodeFactory.instance.objectNode();
    fields.forEach((field, value) -> json.set(field, mapper.valueToTree(value)));
    return json;
  }
}
