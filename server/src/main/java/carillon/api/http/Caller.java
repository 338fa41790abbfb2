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
 * Who sends a request, and on which tenant it acts.
 *
 * @param who how the caller is named in audit records; never a secret
 * @param name of the key, as whoever made it called it
 * @param types the task types that it may touch; empty means all
 */
public record Caller(String who, String name, Role role, List<String> types, Tenant tenant) {

  /** Before the id of the key, where who calls is a row of keys. */
  static final String KEY = "key:";

  public Caller {
    types = List.copyOf(types);
  }

  /** Empty for the key that the installation began with: it is no row. */
  public Optional<String> keyId() {
    return who.startsWith(KEY) ? Optional.of(who.substring(KEY.length())) : Optional.empty();
  }

  public TenantId tenantId() {
    return tenant.id();
  }

  /** To where it may have tasks published. */
  public Grants grants() {
    return tenant.grants();
  }

  public boolean mayTouch(String type) {
    return types.isEmpty() || types.contains(type);
  }

  public void requireAccess(String type) {
    if (!mayTouch(type)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE, "this key may not touch the type " + Echo.of(type));
    }
  }
}
