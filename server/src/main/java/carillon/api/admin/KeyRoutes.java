package carillon.api.admin;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Paging;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.api.json.Fields;
import carillon.api.json.Times;
import carillon.model.Echo;
import carillon.model.KeyText;
import carillon.store.catalog.ApiKey;
import carillon.store.catalog.ApiKeys;
import carillon.store.db.Page;
import java.security.SecureRandom;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Creates, lists and revokes API keys. A key is shown once, when it is created. */
public final class KeyRoutes {

  private static final int MAX_NAME = 100;
  private static final int MAX_TYPES = 100;
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z]{12}");

  private final ApiKeys keys;
  private final DatabaseGate database;
  private final Paging paging;
  private final InstantSource clock;
  private final SecureRandom random = new SecureRandom();

  public KeyRoutes(ApiKeys keys, DatabaseGate database, Paging paging, InstantSource clock) {
    this.keys = keys;
    this.database = database;
    this.paging = paging;
    this.clock = clock;
  }

  public List<Endpoint> endpoints() {
    return List.of(
        Endpoint.post("/v1/keys", Permission.KEYS, this::create),
        Endpoint.get("/v1/keys", Permission.KEYS, Set.of("limit", "cursor"), this::list),
        Endpoint.delete("/v1/keys/{id}", Permission.KEYS, this::revoke));
  }

  private Answer create(Call call) {
    if (call.idempotencyKey() != null) {
      // A stored response would be a stored secret.
      throw new ApiException(
          ErrorCode.INVALID_IDEMPOTENCY_KEY,
          "a key is shown only once; send the request without Idempotency-Key");
    }
    Fields fields = call.fields();
    String name = fields.required("name", fields.text("name", MAX_NAME));
    Role role = fields.required("role", fields.choice("role", Role.class));
    List<String> types = types(fields, role);
    Instant expiresAt = fields.time("expiresAt");
    if (expiresAt != null && !expiresAt.isAfter(clock.instant())) {
      fields.wrong("expiresAt", ErrorCode.OUT_OF_RANGE, "must be in the future");
    }
    fields.done(Set.of("id", "key", "tenant", "createdAt", "revokedAt"));
    fields.errors().throwIfAny();
    if (name == null || role == null || !call.caller().role().covers(role)) {
      throw new ApiException(
          ErrorCode.ROLE_TOO_STRONG,
          "this key cannot create keys with more permissions than its own");
    }
    KeyText text = KeyText.random(random);
    ApiKey key =
        database.inTransaction(
            tx ->
                keys.create(
                    tx,
                    call.tenant(),
                    text.id(),
                    name,
                    role.label(),
                    types,
                    text.hash(),
                    expiresAt,
                    call.caller().who()));
    return Answer.json(201, json(key).put("key", text.text()))
        .with("Location", "/v1/keys/" + key.id());
  }

  private static List<String> types(Fields fields, @Nullable Role role) {
    List<String> types = fields.strings("types", MAX_TYPES);
    for (String type : types) {
      if (!Fields.TYPE_NAME.matcher(type).matches()) {
        fields.wrong("types", ErrorCode.INVALID_VALUE, "each type must match " + Fields.TYPE_NAME);
      }
    }
    if (role != null && !role.canBeLimitedToTypes() && !types.isEmpty()) {
      fields.wrong(
          "types",
          ErrorCode.INVALID_VALUE,
          "only producer and worker keys can be limited to types");
    }
    return types;
  }

  /**
   * A caller sees and revokes only keys with no more permissions than its own: an owner does not
   * see admin keys, even those of the owner's tenant.
   */
  private static List<String> visibleRoles(Call call) {
    Role own = call.caller().role();
    return Arrays.stream(Role.values()).filter(own::covers).map(Role::label).toList();
  }

  private Answer list(Call call) {
    int limit = call.query().limit();
    String after = paging.start(call, text -> text);
    Page<ApiKey, String> page =
        database.use(() -> keys.list(call.tenant(), visibleRoles(call), limit, after));
    return paging.answer(call, page.items().stream().map(KeyRoutes::json).toList(), page.next());
  }

  private Answer revoke(Call call) {
    String id = call.parameter("id");
    if (!ID.matcher(id).matches()) {
      throw new ApiException(ErrorCode.INVALID_ID, Echo.of(id) + " is not the ID of a key");
    }
    List<String> roles = visibleRoles(call);
    if (!database.use(() -> keys.revoke(call.tenant(), id, roles, call.caller().who()))) {
      throw new ApiException(ErrorCode.NOT_FOUND, "unknown key");
    }
    return Answer.noContent();
  }

  private static ObjectNode json(ApiKey key) {
    ObjectNode node = JsonNodeFactory.instance.objectNode();
    node.put("id", key.id());
    node.put("tenant", key.tenant().name());
    node.put("name", key.name());
    node.put("role", key.role());
    ArrayNode types = node.putArray("types");
    key.types().forEach(types::add);
    node.put("createdAt", Times.format(key.createdAt()));
    node.put("expiresAt", Times.formatOrNull(key.expiresAt()));
    node.put("revokedAt", Times.formatOrNull(key.revokedAt()));
    return node;
  }
}
