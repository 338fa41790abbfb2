package carillon.model.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.cron.DstRule;
import carillon.model.task.TaskState;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FireSettlementTest {

  private static final Instant NOON = Instant.parse("2027-01-10T12:00:00Z");

  private static Schedule pausedAfter(@Nullable Integer failures) {
    return new Schedule(
        "s",
        null,
        Duration.ofMinutes(1),
        ZoneId.of("UTC"),
        DstRule.DEFAULT,
        OverlapRule.ALLOW,
        CatchUp.DEFAULT,
        Duration.ZERO,
        null,
        null,
        null,
        failures,
        new Schedule.TaskTemplate("t", null, null, null, null, null));
  }

  private static List<UnsettledFire> fires(String states) {
    List<UnsettledFire> fires = new ArrayList<>();
    for (String state : states.split(" ", -1)) {
      Instant at = NOON.plusSeconds(fires.size());
      fires.add(
          new UnsettledFire(
              at,
              LocalDateTime.ofInstant(at, ZoneOffset.UTC),
              false,
              at,
              FireHash.taskId(1, 1, at, at),
              state.equals("GONE") ? null : TaskState.valueOf(state)));
    }
    return fires;
  }

  @ParameterizedTest
  @CsvSource({
    // states, failures before, completed, failed, cancelled, failures after, live
    "COMPLETED, 3, 1, 0, 0, 0, 0",
    "DEAD, 3, 0, 1, 0, 4, 0",
    "EXPIRED, 0, 0, 1, 0, 1, 0",
    "CANCELLED, 3, 0, 0, 1, 3, 0",
    "GONE, 3, 0, 0, 0, 3, 0",
    "RUNNING PENDING, 3, 0, 0, 0, 3, 2",
    "DEAD COMPLETED DEAD CANCELLED RUNNING EXPIRED, 5, 1, 3, 1, 2, 1"
  })
  void ended_tasks_are_counted_and_others_are_live(
      String states, int before, int completed, int failed, int cancelled, int after, int live) {
    FireSettlement settlement = FireSettlement.of(fires(states), before, pausedAfter(null));

    assertThat(settlement.completed()).isEqualTo(completed);
    assertThat(settlement.failed()).isEqualTo(failed);
    assertThat(settlement.cancelled()).isEqualTo(cancelled);
    assertThat(settlement.failuresInARow()).isEqualTo(after);
    assertThat(settlement.live()).hasSize(live);
    assertThat(settlement.pauseReason()).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "DEAD DEAD, 1, true",
    "DEAD, 1, false",
    "DEAD DEAD DEAD, 0, true",
    "DEAD COMPLETED DEAD, 1, false"
  })
  void failures_in_a_row_pause_the_schedule_and_reset_the_count(
      String states, int before, boolean pauses) {
    List<UnsettledFire> fires = fires(states);

    FireSettlement settlement = FireSettlement.of(fires, before, pausedAfter(3));

    if (pauses) {
      assertThat(settlement.pauseReason())
          .isEqualTo("3 tasks in a row failed; the last is " + fires.getLast().task());
      assertThat(settlement.failuresInARow()).isZero();
    } else {
      assertThat(settlement.pauseReason()).isNull();
    }
  }
}
