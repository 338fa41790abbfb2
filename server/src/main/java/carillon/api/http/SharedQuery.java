package carillon.api.http;

import carillon.store.db.StoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Shares the result of a database query among callers. Each key is read again once its value is
 * older than the interval. Any thread may read values; {@link #refresh} runs on one thread at a
 * time, see {@link DatabaseGate#tryExclusively}.
 */
public final class SharedQuery<K, V> {

  /** A little less than the two seconds after which clients ask again. */
  public static final Duration SHORTEST_INTERVAL = Duration.ofMillis(1_800);

  /** After a statement timeout, and how long a value remains available once it has expired. */
  static final Duration RETRY_INTERVAL = Duration.ofMinutes(1);

  private final Function<Set<K>, Map<K, V>> query;
  private final Function<Optional<V>, V> onTimeout;
  private final Supplier<Duration> interval;
  private final Supplier<Instant> clock;
  private final LongSupplier nanoTime;
  private final Map<K, Result<V>> results = new ConcurrentHashMap<>();

  /**
   * A value and the time just before it was read.
   *
   * @param expiresAt in the time of {@code nanoTime}
   */
  public record Result<V>(V value, Instant readAt, long expiresAt) {}

  /**
   * @param query returns a value for each key it is given
   * @param onTimeout the value to use after a statement timeout, given the last one
   */
  public SharedQuery(
      Function<Set<K>, Map<K, V>> query,
      Function<Optional<V>, V> onTimeout,
      Supplier<Duration> interval,
      Supplier<Instant> clock,
      LongSupplier nanoTime) {
    this.query = query;
    this.onTimeout = onTimeout;
    this.interval = interval;
    this.clock = clock;
    this.nanoTime = nanoTime;
  }

  /** The value read last; empty if that was more than a minute after its interval. */
  public Optional<Result<V>> last(K key) {
    return Optional.ofNullable(results.get(key))
        .filter(result -> nanoTime.getAsLong() - result.expiresAt() <= RETRY_INTERVAL.toNanos());
  }

  public boolean isFresh(Set<K> keys) {
    return expired(keys, nanoTime.getAsLong()).isEmpty();
  }

  private Set<K> expired(Set<K> keys, long now) {
    Set<K> expired = new HashSet<>();
    for (K key : keys) {
      Result<V> result = results.get(key);
      if (result == null || now - result.expiresAt() >= 0) {
        expired.add(key);
      }
    }
    return expired;
  }

  /** Reads those keys again whose values have expired. */
  public void refresh(Set<K> keys) {
    long now = nanoTime.getAsLong();
    results.values().removeIf(each -> now - each.expiresAt() > RETRY_INTERVAL.toNanos());
    Set<K> expired = expired(keys, now);
    if (expired.isEmpty()) {
      return;
    }
    Instant readAt = clock.get();
    try {
      Map<K, V> values = query.apply(expired);
      long expiresAt = nanoTime.getAsLong() + interval.get().toNanos();
      for (K key : expired) {
        results.put(key, new Result<>(Objects.requireNonNull(values.get(key)), readAt, expiresAt));
      }
    } catch (StoreException e) {
      if (!e.isTooMuch()) {
        throw e;
      }
      // Trying again right away would take as long again and delay all other queries.
      long expiresAt = nanoTime.getAsLong() + RETRY_INTERVAL.toNanos();
      for (K key : expired) {
        Optional<Result<V>> last = Optional.ofNullable(results.get(key));
        results.put(
            key,
            new Result<>(
                onTimeout.apply(last.map(Result::value)),
                last.map(Result::readAt).orElse(readAt),
                expiresAt));
      }
    }
  }
}
