package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LanesForFullClaimTest {

  private static final int LANE = 7;

  private long now = Long.MAX_VALUE; // overflows, as nanoTime may
  private final LanesForFullClaim lanes = new LanesForFullClaim(() -> now);

  @Test
  void a_lane_needs_no_full_claim_until_it_is_added() {
    assertThat(lanes.has(LANE)).isFalse();

    lanes.add(LANE);

    assertThat(lanes.has(LANE)).isTrue();
    assertThat(lanes.has(LANE + 1)).isFalse();
  }

  @Test
  void a_lane_needs_no_full_claim_30_seconds_after_it_was_last_added() {
    lanes.add(LANE);
    now += Duration.ofSeconds(29).toNanos();
    lanes.add(LANE);
    now += Duration.ofSeconds(29).toNanos();
    assertThat(lanes.has(LANE)).isTrue();

    now += Duration.ofSeconds(1).toNanos();

    assertThat(lanes.has(LANE)).isFalse();
  }
}
