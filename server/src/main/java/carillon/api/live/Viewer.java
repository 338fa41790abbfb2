package carillon.api.live;

import carillon.model.TenantId;
import carillon.store.stats.StatsReader.PerType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The tenant whose statistics a caller may see.
 *
 * @param types the only types it may see; empty means all
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

  <T> PerType<T> only(PerType<T> all) {
    return new PerType<>(only(all.types()), all.atLeast());
  }

  <T> Map<String, T> only(Map<String, T> all) {
    if (!isLimited()) {
      return all;
    }
    Map<String, T> visible = new HashMap<>(all);
    visible.keySet().retainAll(types);
    return visible;
  }
}
