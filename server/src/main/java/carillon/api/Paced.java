package carillon.api;

import carillon.model.TenantId;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * One kind of number of each tenant, looked at for all who ask together, and the more seldom the
 * longer a look takes: however large the installation, it costs the database a third of a percent
 * of a core at most. Not safe for several threads at once.
 */
final class Paced<T> {

  /** A little less than the two seconds in which people look again. */
  static final Duration FRESH = Duration.ofMillis(1_800);

  private static final Duration STALEST = Duration.ofMinutes(1);
  private static final int RESTS = 300; // times what a look took

  private final Function<Set<TenantId>, Map<TenantId, T>> look;
  private final LongSupplier nanoTime;
  private final Map<TenantId, Held<T>> held = new HashMap<>();

  /** Good until then. */
  private record Held<T>(T value, long until) {}

  /**
   * @param look says something of every tenant that it is asked for
   */
  Paced(Function<Set<TenantId>, Map<TenantId, T>> look, LongSupplier nanoTime) {
    this.look = look;
    this.nanoTime = nanoTime;
  }

  Map<TenantId, T> of(Set<TenantId> tenants) {
    long now = nanoTime.getAsLong();
    // Who has not been asked for in a while is forgotten.
    held.values().removeIf(each -> now - each.until() > STALEST.toNanos());
    Set<TenantId> stale = new HashSet<>();
    for (TenantId tenant : tenants) {
      Held<T> known = held.get(tenant);
      if (known == null || now - known.until() >= 0) {
        stale.add(tenant);
      }
    }
    if (!stale.isEmpty()) {
      Map<TenantId, T> seen = look.apply(stale);
      long end = nanoTime.getAsLong();
      long until = end + rest(end - now);
      stale.forEach(
          tenant -> held.put(tenant, new Held<>(Objects.requireNonNull(seen.get(tenant)), until)));
    }
    Map<TenantId, T> values = new HashMap<>();
    tenants.forEach(tenant -> values.put(tenant, Objects.requireNonNull(held.get(tenant)).value()));
    return values;
  }

  private static long rest(long took) {
    return Math.clamp(took * RESTS, FRESH.toNanos(), STALEST.toNanos());
  }
}
