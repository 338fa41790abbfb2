package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.KeyText;
import carillon.store.catalog.ApiKey;
import carillon.store.catalog.ApiKeys;
import carillon.store.catalog.Tenant;
import carillon.store.catalog.Tenants;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Finds out who calls, on which tenant, and whether they may. */
public final class Auth {

  public static final Pattern TENANT_NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,62}");

  private static final String BEARER = "Bearer ";
  private static final String DEFAULT_TENANT = "default";

  private final byte[] adminKeyHash;
  private final ApiKeys keys;
  private final Tenants tenants;
  private final DatabaseGate database;

  public Auth(String adminKeyHash, ApiKeys keys, Tenants tenants, DatabaseGate database) {
    this.adminKeyHash = HexFormat.of().parseHex(adminKeyHash);
    this.keys = keys;
    this.tenants = tenants;
    this.database = database;
  }

  /**
   * The caller of a request, if it has the permission.
   *
   * @param authorization all values of that header
   * @param tenantHeader all values of {@code Carillon-Tenant}
   */
  public Caller caller(Permission needed, List<String> authorization, List<String> tenantHeader) {
    Caller caller = authenticate(authorization);
    if (!caller.role().may(needed)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE,
          "the role "
              + caller.role().label()
              + " is not allowed to do this; requires role "
              + Role.allowedTo(needed));
    }
    return tenantHeader.isEmpty() ? caller : onTenant(caller, tenantHeader);
  }

  private Caller authenticate(List<String> authorization) {
    if (authorization.size() != 1
        || !authorization.getFirst().regionMatches(true, 0, BEARER, 0, BEARER.length())) {
      throw unauthorized();
    }
    String token = authorization.getFirst().substring(BEARER.length()).strip();
    // The admin key is compared by hash: equal cost for whatever is sent.
    if (MessageDigest.isEqual(KeyText.sha256(token), adminKeyHash)) {
      return new Caller(
          "admin",
          "admin",
          Role.ADMIN,
          List.of(),
          tenant(DEFAULT_TENANT).orElseThrow(Auth::unauthorized));
    }
    KeyText text = KeyText.parse(token).orElseThrow(Auth::unauthorized);
    byte[] hash = text.hash();
    ApiKey key =
        keys.findRemembered(text.id(), hash)
            .or(() -> database.use(() -> keys.findLive(text.id(), hash)))
            .orElseThrow(Auth::unauthorized);
    Role role = Role.labelled(key.role()).orElseThrow(Auth::unauthorized);
    // The key is remembered longer than the settings of its tenant.
    Tenant tenant = tenants.find(key.tenant().name()).orElse(key.tenant());
    return new Caller(Caller.KEY + key.id(), key.name(), role, key.types(), tenant);
  }

  private Caller onTenant(Caller caller, List<String> header) {
    if (header.size() > 1) {
      throw new ApiException(ErrorCode.INVALID_HEADER, "Carillon-Tenant is given twice");
    }
    String name = header.getFirst().strip();
    if (name.equals(caller.tenant().name())) {
      return caller;
    }
    if (caller.role() != Role.ADMIN) {
      throw new ApiException(
          ErrorCode.TENANT_NOT_ALLOWED, "only an admin key acts on another tenant");
    }
    Tenant other =
        tenant(name).orElseThrow(() -> new ApiException(ErrorCode.NOT_FOUND, "unknown tenant"));
    return new Caller(caller.who(), caller.name(), caller.role(), caller.types(), other);
  }

  private Optional<Tenant> tenant(String name) {
    return TENANT_NAME.matcher(name).matches() ? tenants.find(name) : Optional.empty();
  }

  /** The same for every reason, so that nothing can be learnt from it. */
  public static ApiException unauthorized() {
    return new ApiException(ErrorCode.UNAUTHORIZED, ErrorCode.UNAUTHORIZED.meaning())
        .with("WWW-Authenticate", "Bearer realm=\"carillon\"");
  }
}
