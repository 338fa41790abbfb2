package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class HelpBackoffTest {

  private static final int LANE = 7;

  private long now = Long.MAX_VALUE; // overflows, as nanoTime may
  private final HelpBackoff backoff = new HelpBackoff(() -> now);

  private void advance(Duration time) {
    now += time.toNanos();
  }

  /** Advances the time until the back-off of the lane ends, and returns the seconds. */
  private int pause() {
    int seconds = 0;
    for (; backoff.isActive(LANE); seconds++) {
      advance(Duration.ofSeconds(1));
    }
    return seconds;
  }

  private int pauseAfterEmptyClaim() {
    backoff.extend(LANE);
    return pause();
  }

  @Test
  void each_empty_claim_doubles_the_pause_up_to_half_a_minute() {
    assertThat(backoff.isActive(LANE)).isFalse();
    assertThat(pauseAfterEmptyClaim()).isEqualTo(2);
    assertThat(pauseAfterEmptyClaim()).isEqualTo(4);
    assertThat(pauseAfterEmptyClaim()).isEqualTo(8);
    assertThat(pauseAfterEmptyClaim()).isEqualTo(16);
    assertThat(pauseAfterEmptyClaim()).isEqualTo(30);
    assertThat(pauseAfterEmptyClaim()).isEqualTo(30);
  }

  @Test
  void a_claim_that_finds_tasks_ends_the_pause() {
    pauseAfterEmptyClaim();
    backoff.extend(LANE);

    backoff.reset(LANE);

    assertThat(backoff.isActive(LANE)).isFalse();
    assertThat(pauseAfterEmptyClaim()).isEqualTo(2);
  }

  @Test
  void an_old_empty_claim_does_not_count() {
    pauseAfterEmptyClaim();
    pauseAfterEmptyClaim();
    advance(Duration.ofSeconds(31));

    assertThat(pauseAfterEmptyClaim()).isEqualTo(2);
  }

  @Test
  void at_most_ten_thousand_lanes_are_remembered() {
    backoff.extend(LANE);
    for (int lane = 100; lane < 10_100; lane++) {
      backoff.extend(lane);
    }

    assertThat(backoff.isActive(LANE)).isFalse();
    assertThat(backoff.isActive(10_099)).isTrue();
  }
}
