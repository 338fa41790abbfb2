package carillon.api;

import carillon.store.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One kind of number of each tenant or type, looked at for all who ask together, and the more
 * seldom the longer a look takes: however large the installation, repeating it costs the database a
 * third of a percent of a core at most. Not safe for several threads at once.
 */
final class Paced<K, T> {

  /** A little less than the two seconds in which people look again. */
  static final Duration FRESH = Duration.ofMillis(1_800);

  static final Duration STALEST = Duration.ofMinutes(1);

  private static final int RESTS = 300; // times what a look took

  private final Function<Set<K>, Map<K, T>> look;
  private final Function<Optional<T>, T> otherwise;
  private final Supplier<Instant> clock;
  private final LongSupplier nanoTime;
  private final Map<K, Held<T>> held = new HashMap<>();

  /** As it was then; good until that nanosecond. */
  private record Held<T>(T value, Instant at, long until) {}

  /**
   * @param look says something of everyone that it is asked for
   * @param otherwise what to say if a look took too long, given what was said last
   */
  Paced(
      Function<Set<K>, Map<K, T>> look,
      Function<Optional<T>, T> otherwise,
      Supplier<Instant> clock,
      LongSupplier nanoTime) {
    this.look = look;
    this.otherwise = otherwise;
    this.clock = clock;
    this.nanoTime = nanoTime;
  }

  Map<K, T> of(Set<K> keys) {
    long now = nanoTime.getAsLong();
    // Who has not been asked for in a while is forgotten.
    held.values().removeIf(each -> now - each.until() > STALEST.toNanos());
    Set<K> stale = new HashSet<>();
    for (K key : keys) {
      Held<T> known = held.get(key);
      if (known == null || now - known.until() >= 0) {
        stale.add(key);
      }
    }
    if (!stale.isEmpty()) {
      lookAt(stale, now);
    }
    Map<K, T> values = new HashMap<>();
    keys.forEach(key -> values.put(key, Objects.requireNonNull(held.get(key)).value()));
    return values;
  }

  /** When that was looked at which {@link #of} has just said of it. */
  Instant at(K key) {
    return Objects.requireNonNull(held.get(key)).at();
  }

  private void lookAt(Set<K> stale, long began) {
    Instant at = clock.get();
    try {
      Map<K, T> seen = look.apply(stale);
      long end = nanoTime.getAsLong();
      long until = end + rest(end - began);
      stale.forEach(
          key -> held.put(key, new Held<>(Objects.requireNonNull(seen.get(key)), at, until)));
    } catch (StoreException e) {
      if (!e.isTooMuch()) {
        throw e;
      }
      // To try again at once would take as long again, and keep all others from being looked at.
      long until = nanoTime.getAsLong() + STALEST.toNanos();
      stale.forEach(key -> held.put(key, unseen(held.get(key), at, until)));
    }
  }

  private Held<T> unseen(@Nullable Held<T> last, Instant at, long until) {
    return last == null
        ? new Held<>(otherwise.apply(Optional.empty()), at, until)
        : new Held<>(otherwise.apply(Optional.of(last.value())), last.at(), until);
  }

  private static long rest(long took) {
    return Math.clamp(took * RESTS, FRESH.toNanos(), STALEST.toNanos());
  }
}
