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
  void a_later_timeline_raises_the_signal_and_the_first_does_not() {
    timeline.observe("00000001");
    assertThat(raised).hasValue(0);

    timeline.observe("00000002");
    timeline.observe("00000002");
    assertThat(raised).hasValue(1);
  }

  @Test
  void an_earlier_one_is_an_old_primary_and_changes_nothing() {
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
