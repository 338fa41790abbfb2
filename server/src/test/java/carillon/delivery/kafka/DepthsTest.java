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
  void a_group_whose_lag_cannot_be_read_does_not_block_its_type_forever()
      throws InterruptedException, TimeoutException {
    assertThat(depths.remainingCapacity("t", LIMIT)).isZero();
    for (int i = 0; i < 3; i++) {
      depths.measure(DepthsTest::forbidden);
      assertThat(depths.remainingCapacity("t", LIMIT)).isEqualTo(10);
      send(10);
      assertThat(depths.remainingCapacity("t", LIMIT)).isZero();
    }
  }

  @Test
  void the_last_lag_is_used_while_the_next_cannot_be_read()
      throws InterruptedException, TimeoutException {
    depths.remainingCapacity("t", LIMIT);
    depths.measure(_ -> 7);
    send(2);

    depths.measure(DepthsTest::forbidden);

    assertThat(depths.remainingCapacity("t", LIMIT)).isEqualTo(3);
  }

  @Test
  void no_other_group_is_measured_after_a_timeout() {
    for (int i = 0; i < 30; i++) {
      depths.remainingCapacity("t" + i, LIMIT);
    }
    List<String> measured = new ArrayList<>();

    assertThatThrownBy(
            () ->
                depths.measure(
                    watched -> {
                      measured.add(watched.topic());
                      throw new TimeoutException();
                    }))
        .isInstanceOf(TimeoutException.class);

    assertThat(measured).hasSize(1);
  }

  @Test
  void counting_restarts_when_a_topic_is_used_again()
      throws InterruptedException, TimeoutException {
    depths.remainingCapacity("t", LIMIT);
    depths.measure(_ -> 0);
    send(8);
    now += Duration.ofSeconds(61).toNanos();
    depths.measure(_ -> 0);
    send(8); // not counted
    depths.remainingCapacity("t", LIMIT);

    depths.measure(_ -> 4);

    assertThat(depths.remainingCapacity("t", LIMIT)).isEqualTo(6);
    send(1);
    assertThat(depths.remainingCapacity("t", LIMIT)).isEqualTo(5);
  }
}
