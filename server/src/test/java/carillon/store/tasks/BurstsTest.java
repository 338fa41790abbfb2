package carillon.store.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BurstsTest {

  private static final Instant NOON = Instant.parse("2027-03-28T12:00:00Z");

  private final Bursts bursts = new Bursts();

  private List<Integer> next(Instant dueAt, int tasks) {
    return IntStream.range(0, tasks).mapToObj(_ -> bursts.next(dueAt)).toList();
  }

  @Test
  void a_burst_is_divided_into_runs_of_equal_offset() {
    List<Integer> burst = next(NOON, 3 * Bursts.RUN_LENGTH);

    Map<Integer, Long> tasksPerOffset =
        burst.stream().collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    long tasks = Bursts.RUN_LENGTH;
    assertThat(burst).isSorted();
    assertThat(tasksPerOffset).isEqualTo(Map.of(0, tasks, 1, tasks, 2, tasks));
  }

  @Test
  void a_task_outside_a_burst_gets_offset_zero() {
    next(NOON, 10 * Bursts.RUN_LENGTH);

    for (int i = 1; i <= 1_000; i++) {
      assertThat(bursts.next(NOON.plusMillis(i))).isZero();
    }
  }

  @Test
  void two_interleaved_bursts_are_both_divided() {
    Instant otherTime = NOON.plusSeconds(1);
    int first = 0;
    int second = 0;
    for (int i = 0; i <= 2 * Bursts.RUN_LENGTH; i++) {
      first = bursts.next(NOON);
      second = bursts.next(otherTime);
    }

    assertThat(List.of(first, second)).containsExactly(2, 2);
  }

  @Test
  void a_burst_is_divided_despite_other_tasks_in_between() {
    int offset = 0;
    for (int i = 1; i <= 3 * Bursts.RUN_LENGTH; i++) {
      offset = bursts.next(NOON);
      for (int other = 0; other < 20; other++) {
        assertThat(bursts.next(NOON.minusSeconds(60).plusNanos(1_000L * (20 * i + other))))
            .isZero();
      }
    }

    assertThat(offset).isEqualTo(2);
  }

  @Test
  void all_offsets_are_below_a_millisecond() {
    List<Integer> many = next(NOON, Bursts.RUN_LENGTH * (Bursts.OFFSETS + 1));

    assertThat(many).allMatch(offset -> offset >= 0 && offset < Bursts.OFFSETS);
    assertThat(many.getLast()).isZero();
  }
}
