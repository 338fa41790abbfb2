package carillon.delivery.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How long a queue is left alone that does not confirm. */
class RouteBackoffTest {

  private static final Target.RabbitMq BAD = to("bad");
  private static final Target.RabbitMq GOOD = to("good");

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // clocks may turn over
  private final RouteBackoff places = new RouteBackoff(nanos::get);

  private static Target.RabbitMq to(String queue) {
    return new Target.RabbitMq("main", "", queue, Target.Complete.ON_PUBLISH, null);
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  @Test
  void it_rests_and_no_other_does() {
    places.doubt(BAD);

    assertThat(places.isResting(BAD)).isTrue();
    assertThat(places.isResting(GOOD)).isFalse();
    pass(Duration.ofSeconds(1));
    assertThat(places.isResting(BAD)).isFalse();
  }

  @Test
  void many_of_one_mishap_are_one_and_mishaps_in_a_row_make_it_longer() {
    for (int i = 0; i < 1_000; i++) {
      places.doubt(BAD);
    }
    pass(Duration.ofSeconds(1));
    assertThat(places.isResting(BAD)).isFalse();

    for (int i = 0; i < 20; i++) {
      places.doubt(BAD);
      pass(Duration.ofMillis(1_500));
      assertThat(places.isResting(BAD)).isTrue();
      pass(Duration.ofSeconds(29));
      assertThat(places.isResting(BAD)).isFalse();
    }
  }

  @Test
  void what_went_well_for_long_starts_anew() {
    places.doubt(BAD);
    pass(Duration.ofSeconds(1));
    places.doubt(BAD);
    pass(Duration.ofSeconds(63));
    places.sweep();

    places.doubt(BAD);
    pass(Duration.ofSeconds(1));
    assertThat(places.isResting(BAD)).isFalse();
  }
}
