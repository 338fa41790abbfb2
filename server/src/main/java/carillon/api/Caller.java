package carillon.api;

import carillon.model.Echo;
import carillon.model.Grants;
import carillon.model.TenantId;
import carillon.store.Tenant;
import java.util.List;
import java.util.Optional;

/**
 * Who sends a request, and on which tenant it acts.
 *
 * @param who how the caller is named in audit records; never a secret
 * @param name of the key, as whoever made it called it
 * @param types the task types that it may touch; empty means all
 */
record Caller(String who, String name, Role role, List<String> types, Tenant tenant) {

  /** Before the id of the key, where who calls is a row of keys. */
  static final String KEY = "key:";

  Caller {
    types = List.copyOf(types);
  }

  /** Empty for the key that the installation began with: it is no row. */
  Optional<String> keyId() {
    return who.startsWith(KEY) ? Optional.of(who.substring(KEY.length())) : Optional.empty();
  }

  TenantId tenantId() {
    return tenant.id();
  }

  /** To where it may have tasks published. */
  Grants grants() {
    return tenant.grants();
  }

  boolean mayTouch(String type) {
    return types.isEmpty() || types.contains(type);
  }

  void mustBeAllowed(String type) {
    if (!mayTouch(type)) {
      throw new ApiException(
          ErrorCode.MISSING_SCOPE, "this key may not touch the type " + Echo.of(type));
    }
  }
}
