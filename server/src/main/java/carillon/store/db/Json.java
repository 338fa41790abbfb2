package carillon.store.db;

import carillon.model.target.HiddenValues;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.AlertSetting;
import carillon.model.task.RetryPolicy;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The JSON of targets, retry policies, status rules, alerts, times and metadata: as it is stored,
 * and, but for the secrets of targets, as the API answers it.
 */
public final class Json {

  public static final ObjectMapper MAPPER = JsonMapper.builder().build();

  /**
   * For JSON with field names chosen by clients. Other factories cache the last thousands of names
   * of any length, and some hundred long names would fill the heap.
   */
  public static final JsonFactory FORGETFUL =
      JsonFactory.builder().disable(JsonFactory.Feature.CANONICALIZE_PROPERTY_NAMES).build();

  private static final ObjectMapper FORGETFUL_MAPPER = JsonMapper.builder(FORGETFUL).build();

  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  private Json() {}

  /** Parses a text with any field names. */
  public static JsonNode read(String json) {
    return FORGETFUL_MAPPER.readTree(json);
  }

  /** As the API answers it: without secrets. */
  public static ObjectNode shown(Target target) {
    return of(HiddenValues.in(target));
  }

  /** As it is stored, with its secrets. */
  public static ObjectNode of(Target target) {
    return switch (target) {
      case Target.Http http -> {
        ObjectNode node = NODES.objectNode();
        ObjectNode inner = node.putObject("http");
        inner.put("url", http.url());
        inner.put("method", http.method());
        if (!http.headers().isEmpty()) {
          inner.set("headers", of(http.headers()));
        }
        if (!http.secretHeaders().isEmpty()) {
          ArrayNode secret = inner.putArray("secretHeaders");
          http.secretHeaders().stream().sorted().forEach(secret::add);
        }
        if (http.body() != null) {
          inner.put("body", http.body());
        }
        if (http.timeout() != null) {
          inner.put("timeout", http.timeout().toString());
        }
        yield node;
      }
      case Target.Pull() -> NODES.objectNode().set("pull", NODES.objectNode());
      case Target.Discard() -> NODES.objectNode().set("discard", NODES.objectNode());
      case Target.Broker broker -> BrokerJson.of(broker);
    };
  }

  public static ObjectNode of(RetryPolicy retry) {
    ObjectNode node = NODES.objectNode();
    node.put("maxAttempts", retry.maxAttempts());
    if (retry.maxAge() != null) {
      node.put("maxAge", retry.maxAge().toString());
    }
    node.put("backoff", lower(retry.backoff()));
    node.put("base", retry.base().toString());
    node.put("max", retry.max().toString());
    node.put("jitter", lower(retry.jitter()));
    return node;
  }

  public static ObjectNode of(StatusRules rules) {
    ObjectNode node = NODES.objectNode();
    node.set("successCodes", of(rules.success()));
    node.set("retryCodes", of(rules.retry()));
    node.set("deadCodes", of(rules.dead()));
    return node;
  }

  private static ArrayNode of(List<StatusRules.Range> ranges) {
    ArrayNode node = NODES.arrayNode();
    for (StatusRules.Range range : ranges) {
      if (range.isOne()) {
        node.add(range.from());
      } else {
        node.add(range.toString());
      }
    }
    return node;
  }

  public static ObjectNode of(Map<String, String> pairs) {
    ObjectNode node = NODES.objectNode();
    pairs.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(e -> node.put(e.getKey(), e.getValue()));
    return node;
  }

  /** As the API answers it: without secrets. */
  public static ObjectNode shown(AlertRule rule) {
    return rule(rule, shown(rule.target()));
  }

  /** As it is stored, with the secrets of its target. */
  public static ObjectNode of(AlertRule rule) {
    return rule(rule, of(rule.target()));
  }

  private static ObjectNode rule(AlertRule rule, ObjectNode target) {
    ObjectNode node = NODES.objectNode();
    node.set("target", target);
    node.put("deaths", rule.deaths());
    node.put("within", rule.within().toString());
    return node;
  }

  /** In UTC with milliseconds. */
  public static String of(Instant time) {
    return TIME.format(time);
  }

  public static AlertSetting alert(@Nullable String json) {
    if (json == null) {
      return new AlertSetting.Inherited();
    }
    JsonNode node = MAPPER.readTree(json);
    return node.isNull()
        ? new AlertSetting.Off()
        : new AlertSetting.Own(
            new AlertRule(
                target(node.get("target")),
                node.get("deaths").asInt(),
                Duration.parse(node.get("within").asString())));
  }

  public static Target target(String json) {
    return target(MAPPER.readTree(json));
  }

  private static Target target(JsonNode node) {
    if (node.has("pull")) {
      return new Target.Pull();
    }
    if (node.has("discard")) {
      return new Target.Discard();
    }
    JsonNode http = node.get("http");
    if (http == null) {
      return BrokerJson.target(node);
    }
    return new Target.Http(
        http.get("url").asString(),
        http.get("method").asString(),
        pairs(http.get("headers")),
        names(http.path("secretHeaders")),
        http.has("body") ? http.get("body").asString() : null,
        duration(http.get("timeout")));
  }

  private static Set<String> names(JsonNode array) {
    return array.isEmpty()
        ? Set.of()
        : array.valueStream().map(JsonNode::asString).collect(Collectors.toSet());
  }

  public static RetryPolicy retry(String json) {
    JsonNode node = MAPPER.readTree(json);
    return new RetryPolicy(
        node.get("maxAttempts").asInt(),
        duration(node.get("maxAge")),
        RetryPolicy.Backoff.valueOf(upper(node.get("backoff"))),
        Duration.parse(node.get("base").asString()),
        Duration.parse(node.get("max").asString()),
        RetryPolicy.Jitter.valueOf(upper(node.get("jitter"))));
  }

  public static StatusRules statuses(String json) {
    JsonNode node = MAPPER.readTree(json);
    return new StatusRules(
        ranges(node.get("successCodes")),
        ranges(node.get("retryCodes")),
        ranges(node.get("deadCodes")));
  }

  private static List<StatusRules.Range> ranges(JsonNode node) {
    List<StatusRules.Range> ranges = new ArrayList<>();
    for (JsonNode each : node) {
      ranges.add(
          each.isInt()
              ? StatusRules.Range.of(each.asInt())
              : StatusRules.Range.parse(each.asString()).orElseThrow());
    }
    return ranges;
  }

  public static Map<String, String> pairs(@Nullable String json) {
    return json == null ? Map.of() : pairs(MAPPER.readTree(json));
  }

  private static Map<String, String> pairs(@Nullable JsonNode node) {
    Map<String, String> pairs = new LinkedHashMap<>();
    if (node != null) {
      node.forEachEntry((name, value) -> pairs.put(name, value.asString()));
    }
    return pairs;
  }

  private static @Nullable Duration duration(@Nullable JsonNode node) {
    return node == null ? null : Duration.parse(node.asString());
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static String upper(JsonNode node) {
    return node.asString().toUpperCase(Locale.ROOT);
  }
}
