package carillon.bench.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CallsTest {

  @Test
  void the_number_of_calls_does_not_depend_on_the_number_of_callers() throws Exception {
    AtomicInteger made = new AtomicInteger();
    Calls.Caller caller = made::incrementAndGet;

    Map<String, ?> answer = Calls.times(100, 7, () -> caller);

    assertThat(made).hasValue(100);
    assertThat(answer.get("tasks")).isEqualTo(100);
    assertThat((double[]) answer.get("millis")).hasSize(3).isSorted();
  }

  @Test
  void batches_cover_every_element_exactly_once() throws Exception {
    ConcurrentLinkedQueue<Integer> sent = new ConcurrentLinkedQueue<>();
    List<Integer> all = IntStream.range(0, 25).boxed().toList();

    Calls.inBatches(all, 10, 2, sent::addAll);

    assertThat(sent).containsExactlyInAnyOrderElementsOf(all);
  }

  @Test
  void one_failed_call_fails_the_whole_run() {
    Calls.Caller caller =
        () -> {
          throw new IllegalStateException("no");
        };

    assertThatThrownBy(() -> Calls.times(10, 2, () -> caller)).hasMessageContaining("no");
  }

  @Test
  void percentiles_are_values_that_were_measured() {
    double[] sorted = IntStream.rangeClosed(1, 200).asDoubleStream().toArray();

    assertThat(Calls.percentiles(sorted)).containsExactly(100, 198, 200);
    assertThat(Calls.percentiles(new double[] {7})).containsExactly(7, 7, 7);
  }
}
