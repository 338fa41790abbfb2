package carillon.bench.systems;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TasksTest {

  @Test
  void a_numbered_payload_has_the_usual_length() {
    String task = Tasks.numbered("load-1", 60_000);

    assertThat(task).hasSameSizeAs(Tasks.task("load-1", ""));
    assertThat(Tasks.number(payload(task))).isEqualTo(60_000);
    assertThat(Tasks.number(payload(Tasks.numbered("load-1", 0)))).isZero();
  }

  private static byte[] payload(String task) {
    String start = "\"payload\":";
    String payload = task.substring(task.indexOf(start) + start.length(), task.length() - 1);
    return payload.getBytes(StandardCharsets.UTF_8);
  }
}
