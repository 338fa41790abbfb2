package carillon.api;

import carillon.model.BrokerName;
import carillon.model.Callbacks;
import carillon.model.Grants;
import carillon.model.HttpTargetRules;
import carillon.model.Target;
import carillon.model.TaskType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads targets: exactly one kind, HTTP ones by the rules for what may be reached, and brokers by
 * what the tenant may use.
 */
final class TargetFields {

  private static final List<String> KINDS = List.of("http", "pull", "discard", "kafka", "rabbitmq");
  private static final int MAX_HEADERS = 100; // the rules allow fewer and say so better
  private static final int MAX_HEADER_CHARS = 8192;

  private final HttpTargetRules rules;
  private final BrokerFields brokers;

  TargetFields(HttpTargetRules rules, BrokerFields brokers) {
    this.rules = rules;
    this.brokers = brokers;
  }

  /** Of a task, or of what makes tasks. */
  @Nullable Target read(Fields parent, Grants grants) {
    return read(parent, "target", (fields, kind) -> brokers.own(fields, kind, grants));
  }

  /** Of a type, where the depth of its queue may have a limit. */
  @Nullable Target ofType(Fields parent, Grants grants) {
    return read(parent, "target", (fields, kind) -> brokers.ofType(fields, kind, grants));
  }

  /** Who is told how tasks of this type end. */
  Callbacks callbacks(Fields parent, @Nullable String type) {
    Callbacks callbacks = new Callbacks(http(parent, "onComplete"), http(parent, "onDead"));
    if (type != null && TaskType.isOwn(type)) {
      for (String name : List.of("onComplete", "onDead")) {
        if (parent.has(name)) {
          parent.wrong(
              name,
              ErrorCode.INVALID_VALUE,
              "is not possible for " + type + ": it would never end");
        }
      }
    }
    return callbacks;
  }

  /** For those who only listen: who pulls can as well look at what it wants to know. */
  @Nullable Target http(Fields parent, String name) {
    int before = parent.mistakes().count();
    Target target = read(parent, name, (_, _) -> null);
    if (target instanceof Target.Http) {
      return target;
    }
    if (parent.has(name) && parent.mistakes().count() == before) {
      parent.wrong(name, ErrorCode.INVALID_VALUE, "must be an http target");
    }
    return null;
  }

  /** Reads a target of this kind, which a broker is. */
  private interface ReadBroker {
    @Nullable Target read(Fields fields, BrokerName.Kind kind);
  }

  private @Nullable Target read(Fields parent, String name, ReadBroker broker) {
    Fields fields = parent.object(name);
    if (fields == null) {
      return null;
    }
    List<String> given = new ArrayList<>(KINDS);
    given.removeIf(kind -> !fields.has(kind));
    fields.done();
    if (given.size() != 1) {
      parent.wrong(
          name, ErrorCode.EXCLUSIVE_FIELDS, "must have exactly one of " + String.join(", ", KINDS));
      return null;
    }
    return switch (given.getFirst()) {
      case "http" -> http(fields);
      case "pull" -> plain(fields, "pull", new Target.Pull());
      case "discard" -> plain(fields, "discard", new Target.Discard());
      default -> broker.read(fields, BrokerName.Kind.parse(given.getFirst()).orElseThrow());
    };
  }

  private static Target plain(Fields fields, String kind, Target target) {
    Fields inner = fields.object(kind);
    if (inner != null) {
      inner.done();
    }
    return target;
  }

  private @Nullable Target http(Fields fields) {
    Fields http = fields.object("http");
    if (http == null) {
      return null;
    }
    String url = http.required("url", http.string("url"));
    String method = http.string("method");
    Map<String, String> headers =
        http.pairs("headers", MAX_HEADERS, MAX_HEADER_CHARS, MAX_HEADER_CHARS);
    String body = http.string("body");
    Duration timeout = http.duration("timeout", Limits.TIMEOUT_MIN, Limits.TIMEOUT_MAX);
    http.done();
    if (body != null && body.length() > Limits.PAYLOAD_BYTES) {
      http.wrong("body", ErrorCode.TOO_LONG, "may have " + Limits.PAYLOAD_BYTES + " characters");
    }
    if (url == null) {
      return null;
    }
    Target.Http target =
        new Target.Http(url, method == null ? "POST" : method, headers, body, timeout);
    for (HttpTargetRules.Problem problem : rules.check(target)) {
      http.mistakes()
          .add(new FieldError(http.at("") + problem.field(), problem.code(), problem.message()));
    }
    return target;
  }
}
