package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LeftAloneTest {

  private static final int LANE = 7;

  private long now = Long.MAX_VALUE; // overflows, as nanoTime may
  private final LeftAlone leftAlone = new LeftAlone(() -> now);

  private void pass(Duration time) {
    now += time.toNanos();
  }

  /** How long the lane is left alone from now on, in seconds. */
  private int pause() {
    int seconds = 0;
    for (; leftAlone.isSo(LANE); seconds++) {
      pass(Duration.ofSeconds(1));
    }
    return seconds;
  }

  private int pauseAfterNothing() {
    leftAlone.gaveNothing(LANE);
    return pause();
  }

  @Test
  void each_look_in_vain_doubles_the_time_to_the_next_up_to_half_a_minute() {
    assertThat(leftAlone.isSo(LANE)).isFalse();
    assertThat(pauseAfterNothing()).isEqualTo(2);
    assertThat(pauseAfterNothing()).isEqualTo(4);
    assertThat(pauseAfterNothing()).isEqualTo(8);
    assertThat(pauseAfterNothing()).isEqualTo(16);
    assertThat(pauseAfterNothing()).isEqualTo(30);
    assertThat(pauseAfterNothing()).isEqualTo(30);
  }

  @Test
  void a_lane_that_gave_something_is_looked_at_again_at_once() {
    pauseAfterNothing();
    leftAlone.gaveNothing(LANE);

    leftAlone.gave(LANE);

    assertThat(leftAlone.isSo(LANE)).isFalse();
    assertThat(pauseAfterNothing()).isEqualTo(2);
  }

  @Test
  void what_was_long_ago_does_not_count() {
    pauseAfterNothing();
    pauseAfterNothing();
    pass(Duration.ofSeconds(31));

    assertThat(pauseAfterNothing()).isEqualTo(2);
  }

  @Test
  void however_many_lanes_there_are_it_does_not_remember_them_all() {
    leftAlone.gaveNothing(LANE);
    for (int lane = 100; lane < 10_100; lane++) {
      leftAlone.gaveNothing(lane);
    }

    assertThat(leftAlone.isSo(LANE)).isFalse();
    assertThat(leftAlone.isSo(10_099)).isTrue();
  }
}
