package carillon.store.catalog;

import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.task.Lane;
import carillon.model.task.Route;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * The lanes for a batch of one tenant's tasks. Up to {@link NewLanes#MAX_AT_ONCE} new lanes are
 * created in one transaction, more in several.
 *
 * <p>A batch that fails afterwards, or between two transactions, leaves lanes and types without
 * tasks. They do no harm: the same batch sent again uses them, and no task can be in a lane that
 * its own transaction did not see. Until then each takes some 0.5 KiB on every node, one lookup per
 * sweep, and one place of the tenant's limits. The types can be deleted.
 */
public final class BatchLanes {
  private final Catalog catalog;
  private final TenantId tenant;
  private final LaneName[] names;
  private final Map<LaneName, Lane> found = new HashMap<>();
  private final Map<LaneName, Integer> unknown = new LinkedHashMap<>(); // with its first task

  BatchLanes(Catalog catalog, TenantId tenant, int tasks) {
    this.catalog = catalog;
    this.tenant = tenant;
    this.names = new LaneName[tasks];
  }

  /** Requests the lane that the task with this index needs. */
  public void want(int index, String type, int priority, int slice, Route route) {
    LaneName name = new LaneName(tenant.value(), type, priority, slice, route);
    names[index] = name;
    if (!found.containsKey(name) && !unknown.containsKey(name)) {
      Lane known = catalog.usable(name);
      if (known == null) {
        unknown.put(name, index);
      } else {
        found.put(name, known);
      }
    }
  }

  /** The task with this index needs the lane of the one before it. */
  public void wantSame(int index) {
    names[index] = names[index - 1];
  }

  /**
   * Creates the lanes that do not exist.
   *
   * @param isLimited whether the tenant's limits apply
   * @throws LimitReached with the index of the first task over the limit. Then nothing was created,
   *     unless it takes several transactions and another request used up the limit in between
   */
  public void create(boolean isLimited) {
    if (unknown.size() > NewLanes.MAX_AT_ONCE && isLimited) {
      refuseTooMany();
    }
    List<LaneName> all = List.copyOf(unknown.keySet());
    for (int from = 0; from < all.size(); from += NewLanes.MAX_AT_ONCE) {
      List<LaneName> some = all.subList(from, Math.min(all.size(), from + NewLanes.MAX_AT_ONCE));
      try {
        found.putAll(catalog.create(some, isLimited));
      } catch (LimitReached e) {
        throw e.at(indexOf(some.get(e.index())));
      }
    }
    unknown.clear();
  }

  public Lane lane(int index) {
    return Objects.requireNonNull(found.get(names[index]));
  }

  private int indexOf(LaneName name) {
    return Objects.requireNonNull(unknown.get(name));
  }

  /**
   * Checks the limits before several transactions create the lanes. After this, only a concurrent
   * request can make a later transaction fail.
   */
  private void refuseTooMany() {
    catalog.refresh(); // other nodes may have created some of them
    for (LaneName name : List.copyOf(unknown.keySet())) {
      Lane known = catalog.usable(name);
      if (known != null) {
        found.put(name, known);
        unknown.remove(name);
      }
    }
    refuseTooMany(
        TenantLimit.TYPES, LaneName::type, name -> !catalog.isKnownType(tenant, name.type()));
    refuseTooMany(TenantLimit.LANES, name -> name, _ -> true);
  }

  private <T> void refuseTooMany(
      TenantLimit limit, Function<LaneName, T> of, Predicate<LaneName> isNew) {
    TenantLimits.Used now = catalog.usage(tenant, limit);
    Set<T> seen = new HashSet<>();
    unknown.forEach(
        (name, index) -> {
          if (isNew.test(name)
              && seen.add(of.apply(name))
              && seen.size() > now.max() - now.used()) {
            throw new LimitReached(limit, now.max(), index);
          }
        });
  }
}
