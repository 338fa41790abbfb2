package carillon.api.live;

import carillon.store.db.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
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
 * seldom the dearer a look is: to repeat it costs the database a third of a percent of a core, and
 * more only where that would leave people with numbers that are too old. Not safe for several
 * threads at once.
 */
final class Paced<K, T> {

  /** A little less than the two seconds in which people look again. */
  static final Duration FRESH = Duration.ofMillis(1_800);

  /** So long one rests that took too long for an answer, and one is kept that nobody asks for. */
  static final Duration LONG = Duration.ofMinutes(1);

  private static final int RESTS = 300; // times what a look costs

  /** The shortest of so many looks is what one costs: the others waited for busy processors. */
  private static final int LOOKS = 5;

  private final Function<Set<K>, Map<K, T>> look;
  private final Function<Optional<T>, T> otherwise;
  private final Duration stalest;
  private final Supplier<Instant> clock;
  private final LongSupplier nanoTime;
  private final Map<K, Held<T>> held = new HashMap<>();

  /**
   * As it was then; good until that nanosecond.
   *
   * @param took each of the last looks, the first of all left out: it pays for connections and
   *     plans that the others find
   */
  private record Held<T>(T value, Instant at, long until, List<Long> took) {}

  /**
   * @param look says something of everyone that it is asked for
   * @param otherwise what to say if a look took too long, given what was said last
   * @param stalest however dear, looked at again after so long
   */
  Paced(
      Function<Set<K>, Map<K, T>> look,
      Function<Optional<T>, T> otherwise,
      Duration stalest,
      Supplier<Instant> clock,
      LongSupplier nanoTime) {
    this.look = look;
    this.otherwise = otherwise;
    this.stalest = stalest;
    this.clock = clock;
    this.nanoTime = nanoTime;
  }

  Map<K, T> of(Set<K> keys) {
    long now = nanoTime.getAsLong();
    // Who has not been asked for in a while is forgotten.
    held.values().removeIf(each -> now - each.until() > LONG.toNanos());
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
      for (K key : stale) {
        List<Long> took = took(held.get(key), end - began);
        T value = Objects.requireNonNull(seen.get(key));
        held.put(key, new Held<>(value, at, end + rest(took), took));
      }
    } catch (StoreException e) {
      if (!e.isTooMuch()) {
        throw e;
      }
      // To try again at once would take as long again, and keep all others from being looked at.
      long until = nanoTime.getAsLong() + LONG.toNanos();
      stale.forEach(key -> held.put(key, unseen(held.get(key), at, until)));
    }
  }

  private Held<T> unseen(@Nullable Held<T> last, Instant at, long until) {
    return last == null
        ? new Held<>(otherwise.apply(Optional.empty()), at, until, List.of())
        : new Held<>(otherwise.apply(Optional.of(last.value())), last.at(), until, last.took());
  }

  private static <T> List<Long> took(@Nullable Held<T> last, long nanos) {
    if (last == null) {
      return List.of();
    }
    List<Long> took = new ArrayList<>(last.took());
    took.add(nanos);
    return List.copyOf(took.subList(Math.max(0, took.size() - LOOKS), took.size()));
  }

  private long rest(List<Long> took) {
    long cost = took.isEmpty() ? 0 : Collections.min(took);
    return Math.clamp(cost * RESTS, FRESH.toNanos(), stalest.toNanos());
  }
}
