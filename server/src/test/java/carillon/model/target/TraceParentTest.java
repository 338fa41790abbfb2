package carillon.model.target;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class TraceParentTest {

  @Test
  void the_trace_depends_only_on_the_task_and_its_fence() {
    TaskId id = new TaskId(UUID.fromString("01a1eae8-c718-7000-8754-bfc30dd9d584"));

    assertThat(TraceParent.of(id, 1))
        .isEqualTo("00-01a1eae8c71870008754bfc30dd9d584-8754bfc30dd9d585-01");
    assertThat(TraceParent.of(id, Integer.MAX_VALUE))
        .isEqualTo("00-01a1eae8c71870008754bfc30dd9d584-8754bfc38dd9d583-01");
  }
}
