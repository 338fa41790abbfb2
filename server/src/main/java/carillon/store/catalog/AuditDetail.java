package carillon.store.catalog;

import carillon.model.KeyText;
import carillon.model.TenantLimit;
import carillon.model.schedule.Schedule;
import carillon.model.target.Grants;
import carillon.model.target.HiddenValues;
import carillon.model.target.SigningSecret;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskType;
import carillon.store.db.Json;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * The detail of an audit record: the old and new values of a change. It has no secrets, and no
 * payloads, which may have to be deleted earlier than the audit log. Never longer than {@link
 * #MAX_CHARS}.
 */
public final class AuditDetail {

  static final int MAX_CHARS = 8_192;

  /** Of one text in it, such as a schema. */
  private static final int MAX_TEXT = 1_000;

  /** Stands for an old value that is different and must not be shown. */
  private static final String ANOTHER = HiddenValues.TEXT + ", another";

  private static final int HASH_BYTES = 8;
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

  private AuditDetail() {}

  /** The detail of a creation. */
  public static String created(ObjectNode now) {
    return bounded(NODES.objectNode().set("new", withoutNulls(now)));
  }

  /** The detail of a deletion. */
  public static String deleted(ObjectNode before) {
    return bounded(NODES.objectNode().set("old", withoutNulls(before)));
  }

  /** The detail of a change. */
  public static String changed(ObjectNode before, ObjectNode now) {
    ObjectNode detail = NODES.objectNode();
    ObjectNode old = detail.putObject("old");
    ObjectNode changed = detail.putObject("new");
    TreeSet<String> names = new TreeSet<>(before.propertyNames());
    names.addAll(now.propertyNames());
    for (String name : names) {
      JsonNode was = orNull(before.get(name));
      JsonNode is = orNull(now.get(name));
      if (!was.equals(is)) {
        old.set(name, was);
        changed.set(name, is);
      }
    }
    return bounded(detail);
  }

  private static JsonNode orNull(@Nullable JsonNode node) {
    return node == null ? NODES.nullNode() : node;
  }

  public static ObjectNode withoutNulls(ObjectNode node) {
    node.properties().removeIf(field -> field.getValue().isNull());
    return node;
  }

  /** The detail as JSON; if that is too long, only the names of its fields. */
  public static String bounded(JsonNode detail) {
    String json = detail.toString();
    if (json.length() <= MAX_CHARS) {
      return json;
    }
    ObjectNode names = NODES.objectNode().put("tooLong", true);
    detail
        .properties()
        .forEach(
            part -> {
              var list = names.putArray(part.getKey());
              part.getValue().propertyNames().forEach(list::add);
            });
    return names.toString();
  }

  static ObjectNode of(TaskType type) {
    ObjectNode node = NODES.objectNode();
    set(node, "target", target(type.target()));
    set(node, "retry", retry(type.retry()));
    node.put("timeout", type.timeout().toString());
    node.put("leaseTimeout", type.leaseTimeout().toString());
    node.put("priority", type.priority());
    node.put("slices", type.slices());
    node.put("paused", type.paused());
    set(node, "onComplete", target(type.callbacks().onComplete()));
    set(node, "onDead", target(type.callbacks().onDead()));
    Json.of(type.statuses()).properties().forEach(rule -> node.set(rule.getKey(), rule.getValue()));
    node.put("schema", shortened(type.schema()));
    node.put("signingSecret", type.signingSecrets().isEmpty() ? null : HiddenValues.TEXT);
    return node;
  }

  /** The difference between two versions of a type, including secrets, whose values are hidden. */
  static String changed(TaskType before, TaskType now) {
    ObjectNode old = of(before);
    ObjectNode changed = of(now);
    if (!Arrays.equals(newest(before), newest(now)) && !before.signingSecrets().isEmpty()) {
      old.put("signingSecret", ANOTHER);
    }
    noteHidden(old, changed, "target", before.target(), now.target());
    noteHidden(
        old, changed, "onComplete", before.callbacks().onComplete(), now.callbacks().onComplete());
    noteHidden(old, changed, "onDead", before.callbacks().onDead(), now.callbacks().onDead());
    return changed(old, changed);
  }

  /** If only hidden values differ, both versions look equal: then the old one is marked. */
  private static void noteHidden(
      ObjectNode old, ObjectNode changed, String name, @Nullable Target was, @Nullable Target is) {
    if (!Objects.equals(was, is) && Objects.equals(old.get(name), changed.get(name))) {
      old.put(name, ANOTHER);
    }
  }

  private static byte[] newest(TaskType type) {
    List<SigningSecret> secrets = type.signingSecrets();
    return secrets.isEmpty() ? new byte[0] : secrets.getFirst().bytes();
  }

  static ObjectNode of(Tenant tenant) {
    ObjectNode node = NODES.objectNode();
    node.put("strict", tenant.strict());
    node.put("paused", tenant.paused());
    node.put("weight", tenant.weight());
    switch (tenant.alert()) {
      case AlertSetting.Inherited() -> node.put("alert", "installation");
      case AlertSetting.Off() -> node.put("alert", "off");
      case AlertSetting.Own(var rule) -> {
        ObjectNode alert = Json.of(rule);
        set(alert, "target", target(rule.target()));
        node.set("alert", alert);
      }
    }
    Grants publish = tenant.publish();
    if (publish != null && publish.all() != null) {
      var list = node.putArray("publish");
      publish.all().forEach(grant -> list.add(grant.text()));
    }
    for (TenantLimit limit : TenantLimit.values()) {
      node.put(
          "max"
              + limit.label().substring(0, 1).toUpperCase(Locale.ROOT)
              + limit.label().substring(1),
          tenant.limits().of(limit));
    }
    return node;
  }

  public static ObjectNode of(Schedule schedule, boolean isPaused) {
    ObjectNode node = NODES.objectNode();
    node.put("cron", schedule.cron());
    node.put("every", text(schedule.every()));
    node.put("timezone", schedule.zone().getId());
    node.put("dst", lower(schedule.dst().gap()) + ", " + lower(schedule.dst().overlap()));
    node.put("overlap", schedule.overlap().label());
    node.put("catchUp", lower(schedule.catchUp().rule()));
    node.put("catchUpLimit", schedule.catchUp().limit());
    node.put("catchUpWindow", schedule.catchUp().window().toString());
    node.put("jitter", schedule.jitter().toString());
    node.put("startAt", text(schedule.startAt()));
    node.put("endAt", text(schedule.endAt()));
    node.put("maxRuns", schedule.maxRuns());
    node.put("pauseAfterFailures", schedule.pauseAfterFailures());
    node.put("paused", isPaused);
    Schedule.TaskTemplate task = schedule.task();
    node.put("type", task.type());
    node.put("key", task.key());
    node.put("priority", task.priority());
    node.put("payload", payload(task.payload()));
    set(node, "target", target(task.target()));
    set(node, "retry", retry(task.retry()));
    return node;
  }

  /** The permissions of a key; nothing from which the key could be derived. */
  static ObjectNode ofKey(
      String name, String role, List<String> types, @Nullable Instant expiresAt) {
    ObjectNode node = NODES.objectNode().put("name", name).put("role", role);
    if (!types.isEmpty()) {
      var list = node.putArray("types");
      types.forEach(list::add);
    }
    node.put("expiresAt", text(expiresAt));
    return node;
  }

  public static @Nullable ObjectNode target(@Nullable Target target) {
    if (target == null) {
      return null;
    }
    Target shown = HiddenValues.in(target);
    ObjectNode node = Json.of(shown);
    if (shown instanceof Target.Http http && node.get("http") instanceof ObjectNode inner) {
      inner.put("url", shortened(http.url()));
      if (!http.headers().isEmpty()) {
        ObjectNode headers = inner.putObject("headers");
        for (Map.Entry<String, String> header : new TreeMap<>(http.headers()).entrySet()) {
          headers.put(header.getKey(), shortened(header.getValue()));
        }
      }
      if (http.body() != null) {
        inner.put("body", payload(http.body()));
      }
    }
    return node;
  }

  public static @Nullable ObjectNode retry(@Nullable RetryPolicy retry) {
    return retry == null ? null : Json.of(retry);
  }

  public static void set(ObjectNode node, String name, @Nullable ObjectNode value) {
    node.set(name, Objects.requireNonNullElse(value, NODES.nullNode()));
  }

  /** Length and part of the hash: enough to see whether two values differ. */
  public static @Nullable String payload(@Nullable String payload) {
    if (payload == null) {
      return null;
    }
    byte[] hash = KeyText.sha256().digest(payload.getBytes(StandardCharsets.UTF_8));
    return payload.length()
        + " characters, sha256 "
        + HexFormat.of().formatHex(hash, 0, HASH_BYTES);
  }

  private static @Nullable String shortened(@Nullable String text) {
    return text == null || text.length() <= MAX_TEXT ? text : payload(text);
  }

  public static @Nullable String text(@Nullable Instant time) {
    return time == null ? null : Json.of(time);
  }

  private static @Nullable String text(@Nullable Duration duration) {
    return duration == null ? null : duration.toString();
  }

  private static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
