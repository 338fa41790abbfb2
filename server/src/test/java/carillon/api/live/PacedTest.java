package carillon.api.live;

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

  private static final Duration STALEST = Duration.ofSeconds(10);

  private long nanos;
  private Duration takes = Duration.ZERO;
  private final List<Set<TenantId>> looks = new ArrayList<>();
  private boolean isTooMuch;

  /** Of each, how many looks there were by then, and -1 or the negative of it if that is old. */
  private final Paced<TenantId, Integer> paced =
      new Paced<>(
          this::look,
          last -> -last.orElse(1),
          STALEST,
          () -> Instant.EPOCH.plusNanos(nanos),
          () -> nanos);

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

  /** How long after its last look it is looked at again. */
  private Duration rests() {
    int before = looks.size();
    long began = nanos;
    paced.of(Set.of(ONE));
    while (looks.size() == before) {
      pass(Duration.ofMillis(100));
      paced.of(Set.of(ONE));
    }
    return Duration.ofNanos(nanos - began).minus(takes);
  }

  private void lookOften(Duration each) {
    takes = each;
    for (int i = 0; i < 6; i++) {
      rests();
    }
  }

  @Test
  void the_dearer_a_look_the_longer_it_is_believed_but_no_longer_than_it_may_be() {
    lookOften(Duration.ofMillis(20));
    assertThat(rests()).isEqualTo(Duration.ofSeconds(6));

    lookOften(Duration.ofSeconds(4));
    assertThat(rests()).isEqualTo(STALEST);
  }

  @Test
  void looks_that_a_busy_machine_makes_long_are_no_dearer_for_that() {
    lookOften(Duration.ofMillis(1));

    takes = Duration.ofMillis(400);
    for (int busy = 0; busy < 4; busy++) {
      assertThat(rests()).isLessThanOrEqualTo(Duration.ofSeconds(2));
    }
  }

  @Test
  void the_first_look_is_followed_soon_however_long_it_took() {
    takes = Duration.ofMillis(900);
    paced.of(Set.of(ONE));

    assertThat(rests()).isLessThanOrEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void it_says_when_it_saw_what_it_says() {
    pass(Duration.ofSeconds(3));
    takes = Duration.ofMillis(500);
    paced.of(Set.of(ONE));
    pass(Duration.ofSeconds(1));
    paced.of(Set.of(ONE));

    assertThat(paced.at(ONE)).isEqualTo(Instant.EPOCH.plusSeconds(3));
  }
}
