package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TaskStateTest {

  @Test
  void nine_transitions_are_allowed() {
    List<String> transitions = new ArrayList<>();
    for (TaskState from : TaskState.values()) {
      for (TaskState to : TaskState.values()) {
        if (from.canBecome(to)) {
          transitions.add(from + " -> " + to);
        }
      }
    }

    assertThat(transitions)
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
  void only_live_and_dead_tasks_change_state() {
    for (TaskState state : TaskState.values()) {
      boolean canMove = List.of(TaskState.values()).stream().anyMatch(state::canBecome);
      assertThat(canMove).as("%s", state).isEqualTo(state.isLive() || state == TaskState.DEAD);
    }
  }
}
