package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class InFlightTest {

  private final InFlight inFlight = new InFlight(100);

  @Test
  void a_topic_that_does_not_confirm_leaves_capacity_for_the_others() {
    assertThat(inFlight.take("sick", 20)).isTrue();
    assertThat(inFlight.take("sick", 20)).isFalse();
    assertThat(inFlight.take("well", 20)).isTrue();
    inFlight.release("sick", 20);
    assertThat(inFlight.take("sick", 20)).isTrue();
  }

  @Test
  void the_first_message_of_a_topic_always_fits() {
    assertThat(inFlight.take("large", 1_000)).isTrue();
    assertThat(inFlight.take("other", 10)).isTrue();
    assertThat(inFlight.take("other", 10)).as("all together").isFalse();
  }
}
