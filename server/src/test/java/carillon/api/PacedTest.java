package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TenantId;
import carillon.store.TooMuch;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PacedTest {

  private static final TenantId ONE = new TenantId(1);
  private static final TenantId TWO = new TenantId(2);

  private long nanos;
  private Duration takes = Duration.ZERO;
  private final List<Set<TenantId>> looks = new ArrayList<>();
  private boolean isTooMuch;

  /** Of each, how many looks there were by then, and -1 or the negative of it if that is old. */
  private final Paced<TenantId, Integer> paced =
      new Paced<>(
          this::look, last -> -last.orElse(1), () -> Instant.EPOCH.plusNanos(nanos), () -> nanos);

  private Map<TenantId, Integer> look(Set<TenantId> tenants) {
    looks.add(tenants);
    nanos += takes.toNanos();
    if (isTooMuch) {
      throw TooMuch.failure();
    }
    Map<TenantId, Integer> all = new HashMap<>();
    tenants.forEach(tenant -> all.put(tenant, looks.size()));
    return all;
  }

  private void pass(Duration time) {
    nanos += time.toNanos();
  }

  @Test
  void who_asks_soon_after_another_is_told_what_that_one_saw() {
    paced.of(Set.of(ONE));
    pass(Duration.ofSeconds(1));

    assertThat(paced.of(Set.of(ONE))).containsEntry(ONE, 1);
    assertThat(looks).hasSize(1);

    pass(Duration.ofSeconds(1));
    assertThat(paced.of(Set.of(ONE))).containsEntry(ONE, 2);
  }

  @Test
  void only_those_are_looked_at_of_whom_nothing_new_is_known() {
    paced.of(Set.of(ONE));
    pass(Duration.ofSeconds(1));

    assertThat(paced.of(Set.of(ONE, TWO))).containsEntry(ONE, 1).containsEntry(TWO, 2);
    assertThat(looks).containsExactly(Set.of(ONE), Set.of(TWO));
  }

  @Test
  void what_takes_too_long_is_not_tried_again_for_a_minute_and_what_was_known_is_kept() {
    paced.of(Set.of(ONE));
    pass(Duration.ofSeconds(10));
    takes = Duration.ofSeconds(5);
    isTooMuch = true;

    assertThat(paced.of(Set.of(ONE, TWO))).containsEntry(ONE, -1).containsEntry(TWO, -1);
    assertThat(paced.at(ONE)).as("what is said was so then").isEqualTo(Instant.EPOCH);
    assertThat(paced.at(TWO)).isEqualTo(Instant.EPOCH.plusSeconds(10));
    pass(Duration.ofSeconds(59));
    paced.of(Set.of(ONE, TWO));
    assertThat(looks).hasSize(2);

    isTooMuch = false;
    pass(Duration.ofSeconds(1));
    assertThat(paced.of(Set.of(ONE, TWO))).containsEntry(ONE, 3).containsEntry(TWO, 3);
    assertThat(paced.at(ONE)).isEqualTo(Instant.EPOCH.plusSeconds(75));
  }

  @Test
  void the_longer_a_look_takes_the_longer_it_is_believed_but_no_more_than_a_minute() {
    takes = Duration.ofMillis(30);
    paced.of(Set.of(ONE));
    pass(Duration.ofMillis(8_999));
    paced.of(Set.of(ONE));
    assertThat(looks).hasSize(1);

    takes = Duration.ofSeconds(4);
    pass(Duration.ofMillis(1));
    paced.of(Set.of(ONE));
    assertThat(looks).hasSize(2);
    pass(Duration.ofSeconds(59));
    paced.of(Set.of(ONE));
    assertThat(looks).hasSize(2);
    pass(Duration.ofSeconds(1));
    paced.of(Set.of(ONE));
    assertThat(looks).hasSize(3);
  }
}
