package carillon.delivery.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class RouteBackoffTest {

  private static final Target.RabbitMq BAD = to("bad");
  private static final Target.RabbitMq GOOD = to("good");

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // nanoTime may overflow
  private final RouteBackoff routes = new RouteBackoff(nanos::get);

  private static Target.RabbitMq to(String queue) {
    return new Target.RabbitMq("main", "", queue, Target.Complete.ON_PUBLISH, null);
  }

  private void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  @Test
  void only_the_failed_route_is_paused() {
    routes.onUnconfirmed(BAD);

    assertThat(routes.isPaused(BAD)).isTrue();
    assertThat(routes.isPaused(GOOD)).isFalse();
    pass(Duration.ofSeconds(1));
    assertThat(routes.isPaused(BAD)).isFalse();
  }

  @Test
  void failures_during_a_pause_count_once_and_later_ones_double_it() {
    for (int i = 0; i < 1_000; i++) {
      routes.onUnconfirmed(BAD);
    }
    pass(Duration.ofSeconds(1));
    assertThat(routes.isPaused(BAD)).isFalse();

    for (int i = 0; i < 20; i++) {
      routes.onUnconfirmed(BAD);
      pass(Duration.ofMillis(1_500));
      assertThat(routes.isPaused(BAD)).isTrue();
      pass(Duration.ofSeconds(29));
      assertThat(routes.isPaused(BAD)).isFalse();
    }
  }

  @Test
  void the_pause_resets_after_a_time_without_failures() {
    routes.onUnconfirmed(BAD);
    pass(Duration.ofSeconds(1));
    routes.onUnconfirmed(BAD);
    pass(Duration.ofSeconds(63));
    routes.sweep();

    routes.onUnconfirmed(BAD);
    pass(Duration.ofSeconds(1));
    assertThat(routes.isPaused(BAD)).isFalse();
  }
}
