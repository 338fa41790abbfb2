package carillon.api.http;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.model.Echo;
import carillon.model.TenantId;
import carillon.model.target.Grants;
import carillon.store.catalog.Tenant;
import java.util.List;
import java.util.Optional;

/**
 * The caller of a request and the tenant it acts on.
 *
 * @param who the caller's name in audit records; never a secret
 * @param name of the key, as given when it was created
 * @param types the only task types that it has access to; empty means all
 */
public record Caller(String who, String name, Role role, List<String> types, Tenant tenant) {

  /** The prefix of {@code who} before the id of an API key. */
  static final String KEY_PREFIX = "key:";

  public Caller {
    types = List.copyOf(types);
  }

  /** Empty for the bootstrap admin key, which is not stored in the database. */
  public Optional<String> keyId() {
    return who.startsWith(KEY_PREFIX)
        ? Optional.of(who.substring(KEY_PREFIX.length()))
        : Optional.empty();
  }

  public TenantId tenantId() {
    return tenant.id();
  }

  /** The broker topics and queues that its tasks may publish to. */
  public Grants grants() {
    return tenant.grants();
  }

  public boolean hasAccess(String type) {
    return types.isEmpty() || types.contains(type);
  }

  public void requireAccess(String type) {
    if (!hasAccess(type)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE, "this key has no access to the type " + Echo.of(type));
    }
  }
}
