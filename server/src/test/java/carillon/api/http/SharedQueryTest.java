package carillon.api.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.store.StatementTimeout;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SharedQueryTest {

  private static final Duration INTERVAL = Duration.ofSeconds(10);

  private long nanos;
  private Duration queryTime = Duration.ZERO;
  private final List<Set<String>> queries = new ArrayList<>();
  private boolean timesOut;

  /**
   * A value is the number of queries so far. After a timeout it is the negative of the last value,
   * or -1 if there is none.
   */
  private final SharedQuery<String, Integer> shared =
      new SharedQuery<>(
          this::query,
          last -> -last.orElse(1),
          () -> INTERVAL,
          () -> Instant.EPOCH.plusNanos(nanos),
          () -> nanos);

  private Map<String, Integer> query(Set<String> keys) {
    queries.add(keys);
    nanos += queryTime.toNanos();
    if (timesOut) {
      throw StatementTimeout.failure();
    }
    Map<String, Integer> all = new HashMap<>();
    keys.forEach(key -> all.put(key, queries.size()));
    return all;
  }

  private void advance(Duration time) {
    nanos += time.toNanos();
  }

  private Optional<Integer> last(String key) {
    return shared.last(key).map(SharedQuery.Result::value);
  }

  private Optional<Instant> readAt(String key) {
    return shared.last(key).map(SharedQuery.Result::readAt);
  }

  @Test
  void a_value_is_shared_until_its_interval_has_passed() {
    queryTime = Duration.ofSeconds(1);
    shared.refresh(Set.of("a"));
    advance(INTERVAL.minusNanos(1));
    shared.refresh(Set.of("a"));

    assertThat(last("a")).contains(1);
    assertThat(shared.isFresh(Set.of("a"))).isTrue();
    assertThat(queries).hasSize(1);

    advance(Duration.ofNanos(1));
    assertThat(shared.isFresh(Set.of("a"))).isFalse();
    shared.refresh(Set.of("a"));
    assertThat(last("a")).contains(2);
  }

  @Test
  void only_expired_keys_are_read_again() {
    shared.refresh(Set.of("a"));
    advance(Duration.ofSeconds(1));
    shared.refresh(Set.of("a", "b"));

    assertThat(last("a")).contains(1);
    assertThat(last("b")).contains(2);
    assertThat(queries).containsExactly(Set.of("a"), Set.of("b"));
  }

  @Test
  void a_query_that_timed_out_keeps_the_last_value_and_is_not_repeated_for_a_minute() {
    shared.refresh(Set.of("a"));
    advance(INTERVAL);
    queryTime = Duration.ofSeconds(5);
    timesOut = true;
    shared.refresh(Set.of("a", "b"));

    assertThat(last("a")).contains(-1);
    assertThat(last("b")).contains(-1);
    assertThat(readAt("a")).as("the time of the kept value").contains(Instant.EPOCH);
    assertThat(readAt("b")).contains(Instant.EPOCH.plusSeconds(10));
    advance(Duration.ofSeconds(59));
    shared.refresh(Set.of("a", "b"));
    assertThat(queries).hasSize(2);

    timesOut = false;
    advance(Duration.ofSeconds(1));
    shared.refresh(Set.of("a", "b"));
    assertThat(last("a")).contains(3);
    assertThat(last("b")).contains(3);
    assertThat(readAt("a")).contains(Instant.EPOCH.plusSeconds(75));
  }

  @Test
  void a_value_has_the_time_before_its_query() {
    advance(Duration.ofSeconds(3));
    queryTime = Duration.ofMillis(500);
    shared.refresh(Set.of("a"));
    advance(Duration.ofSeconds(1));

    assertThat(readAt("a")).contains(Instant.EPOCH.plusSeconds(3));
  }

  @Test
  void an_expired_value_is_available_for_another_minute() {
    shared.refresh(Set.of("a"));
    advance(INTERVAL.plus(SharedQuery.RETRY_INTERVAL));
    assertThat(last("a")).contains(1);

    advance(Duration.ofNanos(1));
    assertThat(last("a")).isEmpty();
    assertThat(last("never read")).isEmpty();
  }
}
