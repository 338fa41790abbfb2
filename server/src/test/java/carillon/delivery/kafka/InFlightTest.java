package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Shares the producer's buffer among topics. */
class InFlightTest {

  private final InFlight inFlight = new InFlight(100);

  @Test
  void a_topic_that_does_not_confirm_leaves_room_for_the_others() {
    assertThat(inFlight.take("sick", 20)).isTrue();
    assertThat(inFlight.take("sick", 20)).isFalse();
    assertThat(inFlight.take("well", 20)).isTrue();
    inFlight.giveBack("sick", 20);
    assertThat(inFlight.take("sick", 20)).isTrue();
  }

  @Test
  void one_message_of_a_topic_always_goes() {
    assertThat(inFlight.take("large", 1_000)).isTrue();
    assertThat(inFlight.take("other", 10)).isTrue();
    assertThat(inFlight.take("other", 10)).as("all together").isFalse();
  }
}
