package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.target.Grants;
import carillon.model.task.AlertSetting;
import org.jspecify.annotations.Nullable;

/**
 * A team or customer that shares the installation, isolated from all others.
 *
 * @param publish null means not set
 * @param limits the limits set for this tenant; the installation's apply to the rest
 */
public record Tenant(
    TenantId id,
    String name,
    boolean strict,
    boolean paused,
    int weight,
    AlertSetting alert,
    @Nullable Grants publish,
    TenantLimits.Own limits) {

  /** Where it may publish. Unless set, the default tenant may publish anywhere, others nowhere. */
  public Grants grants() {
    if (publish != null) {
      return publish;
    }
    return id.equals(TenantId.DEFAULT) ? Grants.EVERYWHERE : Grants.NOWHERE;
  }
}
