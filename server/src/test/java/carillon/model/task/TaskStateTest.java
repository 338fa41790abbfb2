package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskStateTest {

  @Test
  void of_all_36_pairs_these_nine_are_arrows() {
    List<String> arrows = new ArrayList<>();
    for (TaskState from : TaskState.values()) {
      for (TaskState to : TaskState.values()) {
        if (from.canBecome(to)) {
          arrows.add(from + " -> " + to);
        }
      }
    }

    assertThat(arrows)
        .containsExactlyInAnyOrder(
            "PENDING -> RUNNING",
            "PENDING -> CANCELLED",
            "PENDING -> EXPIRED",
            "PENDING -> DEAD",
            "RUNNING -> COMPLETED",
            "RUNNING -> PENDING",
            "RUNNING -> DEAD",
            "RUNNING -> CANCELLED",
            "DEAD -> PENDING");
  }

  @Test
  void what_has_ended_stays_ended_unless_it_is_dead() {
    for (TaskState state : TaskState.values()) {
      boolean canMove = List.of(TaskState.values()).stream().anyMatch(state::canBecome);
      assertThat(canMove).as("%s", state).isEqualTo(state.isLive() || state == TaskState.DEAD);
    }
  }
}
