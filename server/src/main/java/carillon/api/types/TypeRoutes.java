package carillon.api.types;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.json.Fields;
import carillon.api.schema.PayloadSchema;
import carillon.api.targets.RetryFields;
import carillon.api.targets.TargetFields;
import carillon.api.tasks.TaskJson;
import carillon.model.Echo;
import carillon.model.target.Grants;
import carillon.model.target.SigningSecret;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskType;
import carillon.store.catalog.Types;
import carillon.store.db.Json;
import carillon.store.db.Page;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.databind.util.RawValue;

/** Configures, shows, pauses and deletes task types. */
public final class TypeRoutes {

  private static final int MAX_SLICES = 64;
  private static final String SECRET_PREFIX = "whsec_";
  private static final int MIN_SECRET_BYTES = 24;
  private static final int MAX_SECRET_BYTES = 64;

  private static final Set<String> READ_ONLY =
      Set.of("name", "version", "pausedReason", "signed", "tenant");

  private final Types types;
  private final TargetFields targets;
  private final DatabaseGate database;
  private final Idempotency idempotency;
  private final Paging paging;

  public TypeRoutes(
      Types types,
      TargetFields targets,
      DatabaseGate database,
      Idempotency idempotency,
      Paging paging) {
    this.types = types;
    this.targets = targets;
    this.database = database;
    this.idempotency = idempotency;
    this.paging = paging;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.get("/v1/types", Permission.TYPES_READ, Set.of("limit", "cursor"), this::list),
        Endpoint.get("/v1/types/{name}", Permission.TYPES_READ, this::show),
        Endpoint.put("/v1/types/{name}", Permission.TYPES_CONFIGURE, this::put),
        Endpoint.delete("/v1/types/{name}", Permission.TYPES_CONFIGURE, this::delete),
        Endpoint.post(
            "/v1/types/{name}/pause", Permission.TYPES_CONFIGURE, call -> setPaused(call, true)),
        Endpoint.post(
            "/v1/types/{name}/resume", Permission.TYPES_CONFIGURE, call -> setPaused(call, false)));
  }

  private Answer list(Call call) {
    int limit = call.query().limit();
    String after = paging.start(call, text -> text);
    Page<TaskType, String> page = database.use(() -> types.list(call.tenant(), limit, after));
    List<ObjectNode> visible =
        page.items().stream()
            .filter(type -> call.caller().hasAccess(type.name()))
            .map(TypeRoutes::json)
            .toList();
    return paging.answer(call, visible, page.next());
  }

  private Answer show(Call call) {
    String name = name(call);
    TaskType type =
        database.use(() -> types.find(call.tenant(), name)).orElseThrow(TypeRoutes::notFound);
    if (!call.caller().hasAccess(name)) {
      throw notFound();
    }
    return Answer.json(200, withSchema(type)).withVersion(type.version());
  }

  private Answer put(Call call) {
    String name = name(call);
    Call.IfMatch ifMatch = call.ifMatch();
    Fields fields = call.fields();
    Types.Settings settings = settings(fields, name, call.caller().grants());
    if (fields.hasAny(READ_ONLY)) {
      Optional<TaskType> now = database.use(() -> types.find(call.tenant(), name));
      fields.requireUnchanged(READ_ONLY, now.map(TypeRoutes::json).orElse(null));
    }
    fields.errors().throwIfAny();
    return database.use(
        () -> {
          if (ifMatch.mustExist()
              && ifMatch.version() == null
              && types.find(call.tenant(), name).isEmpty()) {
            throw new ApiException(ErrorCode.STALE_VERSION, "unknown type");
          }
          String who = call.caller().who();
          return changed(
              TargetFields.reportingUnknownSecrets(
                  () -> types.put(call.tenant(), name, settings, who, ifMatch.version())));
        });
  }

  private Types.Settings settings(Fields fields, String name, Grants grants) {
    RetryPolicy retry = RetryFields.read(fields);
    Boolean paused = fields.bool("paused");
    Types.Settings settings =
        new Types.Settings(
            targets.ofType(fields, grants),
            retry,
            fields.duration("timeout", Limits.TIMEOUT_MIN, Limits.TIMEOUT_MAX),
            fields.duration("leaseTimeout", Limits.LEASE_MIN, Limits.LEASE_MAX),
            fields.integer("priority", 0, 9),
            fields.integer("slices", 1, MAX_SLICES),
            paused != null && paused,
            secret(fields),
            targets.callbacks(fields, name),
            StatusFields.read(fields),
            schema(fields));
    fields.doneExcept(READ_ONLY);
    return settings;
  }

  /** Stored byte for byte; null removes it. */
  private static @Nullable String schema(Fields fields) {
    String schema = fields.raw("schema");
    if (schema == null || schema.equals("null")) {
      return null;
    }
    if (schema.getBytes(StandardCharsets.UTF_8).length > Limits.SCHEMA_BYTES) {
      fields.wrong(
          "schema", ErrorCode.TOO_LONG, "must have at most " + Limits.SCHEMA_BYTES + " bytes");
      return null;
    }
    PayloadSchema.compile(schema, fields.at("schema"), fields.errors());
    return schema;
  }

  /** In the format of Standard Webhooks: {@code whsec_} and the base64 of 24 to 64 random bytes. */
  private static @Nullable SigningSecret secret(Fields fields) {
    String text = fields.string("signingSecret");
    if (text == null) {
      return null;
    }
    String base64 = text.startsWith(SECRET_PREFIX) ? text.substring(SECRET_PREFIX.length()) : text;
    try {
      byte[] bytes = Base64.getDecoder().decode(base64);
      if (bytes.length >= MIN_SECRET_BYTES && bytes.length <= MAX_SECRET_BYTES) {
        return new SigningSecret(bytes);
      }
    } catch (IllegalArgumentException e) {
      // Not base64: the same error as for a wrong length.
    }
    fields.wrong(
        "signingSecret",
        ErrorCode.INVALID_VALUE,
        "must be whsec_ followed by the base64 of 24 to 64 random bytes");
    return null;
  }

  private Answer delete(Call call) {
    String name = name(call);
    Call.IfMatch ifMatch = call.ifMatch();
    return changed(
        database.use(
            () -> types.delete(call.tenant(), name, call.caller().who(), ifMatch.version())));
  }

  private Answer setPaused(Call call, boolean paused) {
    String name = name(call);
    call.noFields();
    return idempotency.run(
        call, tx -> changed(types.setPaused(tx, call.tenant(), name, paused, call.caller().who())));
  }

  private static Answer changed(Types.Result result) {
    return switch (result) {
      case Types.Result.Saved(var type, var created) -> {
        Answer answer =
            Answer.json(created ? 201 : 200, withSchema(type)).withVersion(type.version());
        yield created ? answer.with("Location", "/v1/types/" + type.name()) : answer;
      }
      case Types.Result.Deleted() -> Answer.noContent();
      case Types.Result.NotFound() -> throw notFound();
      case Types.Result.StaleVersion(var type) ->
          throw new ApiException(
              ErrorCode.STALE_VERSION,
              "the type has changed; its current version is " + type.version());
      case Types.Result.LiveTasks() ->
          throw new ApiException(ErrorCode.TYPE_IN_USE, "the type has pending or running tasks");
      case Types.Result.NamedBySchedule(var schedule) ->
          throw new ApiException(
              ErrorCode.TYPE_IN_USE,
              "schedule "
                  + schedule
                  + " creates tasks of this type; change its type or delete it first");
    };
  }

  private static String name(Call call) {
    String name = call.parameter("name");
    if (!Fields.TYPE_NAME.matcher(name).matches()) {
      throw new ApiException(
          ErrorCode.INVALID_ID,
          Echo.of(name) + " is not the name of a type; it must match " + Fields.TYPE_NAME);
    }
    return name;
  }

  private static ObjectNode json(TaskType type) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("name", type.name());
    node.set("target", Json.shown(type.target()));
    node.set("retry", Json.of(type.retry()));
    node.put("timeout", text(type.timeout()));
    node.put("leaseTimeout", text(type.leaseTimeout()));
    node.put("priority", type.priority());
    node.put("slices", type.slices());
    node.put("paused", type.paused());
    node.put("pausedReason", type.pausedReason());
    node.put("signed", !type.signingSecrets().isEmpty()); // the secrets themselves are never shown
    node.put("version", type.version());
    TaskJson.callbacks(node, type.callbacks());
    node.setAll(Json.of(type.statuses()));
    return node;
  }

  /** Lists omit schemas, like payloads. */
  private static ObjectNode withSchema(TaskType type) {
    ObjectNode node = json(type);
    if (type.schema() == null) {
      return node.putNull("schema");
    }
    node.putRawValue("schema", new RawValue(type.schema()));
    return node;
  }

  private static String text(Duration duration) {
    return duration.toString();
  }

  private static ApiException notFound() {
    return new ApiException(ErrorCode.NOT_FOUND, "unknown type");
  }
}
