package carillon.bench.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ProgressTest {

  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

  @Test
  void a_terminal_gets_a_bar() {
    Progress progress = new Progress(new PrintStream(bytes, true, StandardCharsets.UTF_8), true);
    progress.title("drain");
    progress.at(50, 100);

    assertThat(bytes.toString(StandardCharsets.UTF_8))
        .contains("[" + "#".repeat(15) + " ".repeat(15) + "] 50 of 100");
  }

  @Test
  void a_log_gets_lines_and_no_bar() {
    Progress progress = new Progress(new PrintStream(bytes, true, StandardCharsets.UTF_8), false);
    progress.title("drain");
    progress.step("loading");
    progress.at(50, 100);
    progress.done("1 tasks/s");

    assertThat(bytes.toString(StandardCharsets.UTF_8).lines()).hasSize(2);
  }

  @Test
  void a_bar_is_never_longer_than_full() {
    assertThat(Progress.bar(7, 5)).isEqualTo("[" + "#".repeat(30) + "]");
    assertThat(Progress.bar(0, 0)).isEqualTo("[" + "#".repeat(30) + "]");
  }
}
