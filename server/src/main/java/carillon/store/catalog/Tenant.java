package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.target.Grants;
import carillon.model.task.AlertSetting;
import org.jspecify.annotations.Nullable;

/**
 * One user of the installation, kept apart from all others.
 *
 * @param publish null means not set
 * @param limits its own, where it has any
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

  /** To where it may publish: the tenant default anywhere, the others nowhere, unless set. */
  public Grants grants() {
    if (publish != null) {
      return publish;
    }
    return id.equals(TenantId.DEFAULT) ? Grants.EVERYWHERE : Grants.NOWHERE;
  }
}
