package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Signal;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TimelineTest {

  private final Signal replaced = new Signal();
  private final Timeline timeline = new Timeline(replaced);
  private final AtomicInteger raised = new AtomicInteger();

  @BeforeEach
  void listen() {
    replaced.add(raised::incrementAndGet);
  }

  @Test
  void only_a_change_to_a_later_timeline_raises_the_signal() {
    timeline.observe("00000001");
    assertThat(raised).hasValue(0);

    timeline.observe("00000002");
    timeline.observe("00000002");
    assertThat(raised).hasValue(1);
  }

  @Test
  void an_earlier_timeline_of_an_old_primary_is_ignored() {
    timeline.observe("0000000A");
    timeline.observe("00000009");
    timeline.observe("0000000A");

    assertThat(timeline.number()).isEqualTo(10);
    assertThat(raised).hasValue(0);
  }

  @Test
  void a_standby_is_ignored() {
    timeline.observe("00000003");
    timeline.observe("0");

    assertThat(timeline.number()).isEqualTo(3);
    assertThat(raised).hasValue(0);
  }
}
