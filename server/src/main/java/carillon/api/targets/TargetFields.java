package carillon.api.targets;

import carillon.api.error.ErrorCode;
import carillon.api.error.FieldError;
import carillon.api.error.Limits;
import carillon.api.error.ValidationErrors;
import carillon.api.json.Fields;
import carillon.model.Echo;
import carillon.model.target.BrokerName;
import carillon.model.target.Grants;
import carillon.model.target.HiddenValues;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.TaskType;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads targets of exactly one kind, and checks HTTP targets against the address rules and broker
 * targets against the tenant's grants.
 */
public final class TargetFields {

  private static final List<String> KINDS = List.of("http", "pull", "discard", "kafka", "rabbitmq");
  private static final int MAX_HEADERS = 100; // the rules allow fewer, with a better message
  private static final int MAX_HEADER_CHARS = 8192;

  private final HttpTargetRules rules;
  private final BrokerFields brokers;

  public TargetFields(HttpTargetRules rules, BrokerFields brokers) {
    this.rules = rules;
    this.brokers = brokers;
  }

  /** The target of a new task: hidden values are errors. */
  public @Nullable Target read(Fields parent, Grants grants) {
    Target target = change(parent, grants);
    refuseHidden(parent, "target", target);
    return target;
  }

  /** The target of a change, in which hidden values keep the stored ones. */
  public @Nullable Target change(Fields parent, Grants grants) {
    return read(parent, "target", (fields, kind) -> brokers.readForTask(fields, kind, grants));
  }

  /** The target of a type, which may limit the depth of its queue. */
  public @Nullable Target ofType(Fields parent, Grants grants) {
    return read(parent, "target", (fields, kind) -> brokers.readForType(fields, kind, grants));
  }

  /**
   * The targets that are called when a new task of this type ends: complete, without hidden values.
   */
  public Callbacks newCallbacks(Fields parent, @Nullable String type) {
    Callbacks callbacks = callbacks(parent, type);
    refuseHidden(parent, "onComplete", callbacks.onComplete());
    refuseHidden(parent, "onDead", callbacks.onDead());
    return callbacks;
  }

  private static void refuseHidden(Fields parent, String name, @Nullable Target target) {
    try {
      HiddenValues.keep(name, target, null);
    } catch (HiddenValues.Unknown e) {
      e.problems().forEach(problem -> parent.errors().add(error(parent.at(""), problem)));
    }
  }

  /** Runs a change; a hidden value that is not stored is a validation error. */
  public static <T> T reportingUnknownSecrets(Supplier<T> change) {
    try {
      return change.get();
    } catch (HiddenValues.Unknown e) {
      ValidationErrors errors = new ValidationErrors();
      e.problems().forEach(problem -> errors.add(error("/", problem)));
      errors.throwIfAny();
      throw e;
    }
  }

  private static FieldError error(String at, HttpTargetRules.Problem problem) {
    return new FieldError(at + problem.field(), problem.code(), problem.message());
  }

  /** The targets that are called when tasks of this type end. */
  public Callbacks callbacks(Fields parent, @Nullable String type) {
    Callbacks callbacks = new Callbacks(http(parent, "onComplete"), http(parent, "onDead"));
    if (type != null && TaskType.isOwn(type)) {
      for (String name : List.of("onComplete", "onDead")) {
        if (parent.has(name)) {
          parent.wrong(
              name, ErrorCode.INVALID_VALUE, "is not allowed for the internal type " + type);
        }
      }
    }
    return callbacks;
  }

  /** Callbacks go to HTTP targets only: a worker that pulls can query the task. */
  public @Nullable Target http(Fields parent, String name) {
    int before = parent.errors().count();
    Target target = read(parent, name, (_, _) -> null);
    if (target instanceof Target.Http) {
      return target;
    }
    if (parent.has(name) && parent.errors().count() == before) {
      parent.wrong(name, ErrorCode.INVALID_VALUE, "must be an http target");
    }
    return null;
  }

  /** Reads a broker target of this kind. */
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
    List<String> secretHeaders = http.strings("secretHeaders", MAX_HEADERS);
    String body = http.string("body");
    Duration timeout = http.duration("timeout", Limits.TIMEOUT_MIN, Limits.TIMEOUT_MAX);
    http.done();
    if (body != null && body.length() > Limits.PAYLOAD_BYTES) {
      http.wrong(
          "body", ErrorCode.TOO_LONG, "must have at most " + Limits.PAYLOAD_BYTES + " characters");
    }
    if (url == null) {
      return null;
    }
    Target.Http target =
        new Target.Http(
            url,
            method == null ? "POST" : method,
            headers,
            asWritten(http, secretHeaders, headers),
            body,
            timeout);
    rules.check(target).forEach(problem -> http.errors().add(error(http.at(""), problem)));
    return target;
  }

  /** The names as spelled in the headers, compared without case. */
  private static Set<String> asWritten(
      Fields http, List<String> names, Map<String, String> headers) {
    Set<String> written = new HashSet<>();
    for (int i = 0; i < names.size(); i++) {
      String name = names.get(i);
      headers.keySet().stream().filter(name::equalsIgnoreCase).forEach(written::add);
      if (headers.keySet().stream().noneMatch(name::equalsIgnoreCase)) {
        http.errors()
            .add(
                http.at("secretHeaders") + "/" + i,
                ErrorCode.INVALID_VALUE,
                "names \"" + Echo.of(name) + "\", which is not among the headers");
      }
    }
    return written;
  }
}
