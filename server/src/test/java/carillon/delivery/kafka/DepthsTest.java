package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.target.Target;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.junit.jupiter.api.Test;

/** Counts what groups are behind, also where Kafka does not say so. */
class DepthsTest {

  private static final Target.DepthLimit LIMIT = new Target.DepthLimit(10, "readers");

  private long now;
  private final Depths depths = new Depths(() -> now);

  private static long forbidden(Depths.Watched watched) throws ExecutionException {
    throw new ExecutionException(new GroupAuthorizationException(watched.group()));
  }

  private void send(int count) {
    for (int i = 0; i < count; i++) {
      depths.begun("t");
      depths.ended("t");
    }
  }

  @Test
  void a_group_that_cannot_be_read_does_not_stop_its_type_for_good()
      throws InterruptedException, TimeoutException {
    assertThat(depths.room("t", LIMIT)).isZero();
    for (int i = 0; i < 3; i++) {
      depths.measure(DepthsTest::forbidden);
      assertThat(depths.room("t", LIMIT)).isEqualTo(10);
      send(10);
      assertThat(depths.room("t", LIMIT)).isZero();
    }
  }

  @Test
  void the_last_lag_holds_while_the_next_cannot_be_read()
      throws InterruptedException, TimeoutException {
    depths.room("t", LIMIT);
    depths.measure(_ -> 7);
    send(2);

    depths.measure(DepthsTest::forbidden);

    assertThat(depths.room("t", LIMIT)).isEqualTo(3);
  }

  @Test
  void nobody_else_is_asked_once_kafka_does_not_answer() {
    for (int i = 0; i < 30; i++) {
      depths.room("t" + i, LIMIT);
    }
    List<String> asked = new ArrayList<>();

    assertThatThrownBy(
            () ->
                depths.measure(
                    watched -> {
                      asked.add(watched.topic());
                      throw new TimeoutException();
                    }))
        .isInstanceOf(TimeoutException.class);

    assertThat(asked).hasSize(1);
  }

  @Test
  void a_topic_that_is_watched_again_is_counted_anew()
      throws InterruptedException, TimeoutException {
    depths.room("t", LIMIT);
    depths.measure(_ -> 0);
    send(8);
    now += Duration.ofSeconds(61).toNanos();
    depths.measure(_ -> 0);
    send(8); // nobody counts
    depths.room("t", LIMIT);

    depths.measure(_ -> 4);

    assertThat(depths.room("t", LIMIT)).isEqualTo(6);
    send(1);
    assertThat(depths.room("t", LIMIT)).isEqualTo(5);
  }
}
