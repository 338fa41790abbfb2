package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class InFlightTest {

  private final InFlight inFlight = new InFlight(100);

  @Test
  void a_topic_that_does_not_confirm_leaves_capacity_for_the_others() {
    assertThat(inFlight.take("blocked", 20)).isTrue();
    assertThat(inFlight.take("blocked", 20)).isFalse();
    assertThat(inFlight.take("healthy", 20)).isTrue();
    inFlight.release("blocked", 20);
    assertThat(inFlight.take("blocked", 20)).isTrue();
  }

  @Test
  void the_first_message_of_a_topic_always_fits() {
    assertThat(inFlight.take("large", 1_000)).isTrue();
    assertThat(inFlight.take("other", 10)).isTrue();
    assertThat(inFlight.take("other", 10)).as("beyond the total limit").isFalse();
  }
}
