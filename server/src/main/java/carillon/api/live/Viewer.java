package carillon.api.live;

import carillon.model.TenantId;
import java.util.List;

/**
 * Whose figures somebody may see.
 *
 * @param types that they are limited to; empty means all
 */
public record Viewer(TenantId tenant, List<String> types) {

  public Viewer {
    types = List.copyOf(types);
  }

  static Viewer ofAll(TenantId tenant) {
    return new Viewer(tenant, List.of());
  }

  boolean isLimited() {
    return !types.isEmpty();
  }
}
