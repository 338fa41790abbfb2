package carillon.bench.systems;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.bench.figures.Times;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

class PeerProcessTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final String READY = "{\"ready\":true,\"version\":\"1.2\",\"settings\":\"tuned\"}";

  @TempDir private Path directory;

  /** A peer that is ready and then does what the script says. */
  private PeerProcess peer(String script) throws IOException {
    return PeerProcess.start(
        "fake",
        List.of("sh", "-c", "echo '" + READY + "'; " + script),
        Map.of("BENCH_X", "42"),
        directory);
  }

  @Test
  void a_peer_reports_its_version_and_settings() throws IOException {
    try (PeerProcess peer = peer("read line")) {
      assertThat(peer.settings()).isEqualTo("1.2 tuned");
    }
  }

  @Test
  void a_command_gets_its_answer_and_the_environment_is_set() throws IOException {
    String script = "while read line; do echo \"{\\\"remaining\\\":$BENCH_X}\"; done";
    try (PeerProcess peer = peer(script)) {
      assertThat(peer.ask(Map.of("do", "remaining"), TIMEOUT).path("remaining").asInt())
          .isEqualTo(42);
    }
  }

  @Test
  void an_error_is_an_exception() throws IOException {
    try (PeerProcess peer =
        peer("while read line; do echo '{\"error\":\"table is gone\"}'; done")) {
      assertThatThrownBy(() -> peer.ask(Map.of("do", "load"), TIMEOUT))
          .hasMessage("fake: table is gone");
    }
  }

  @Test
  void the_error_for_a_peer_that_exits_has_its_last_log_line() throws IOException {
    try (PeerProcess peer = peer("read line; echo 'out of luck' >&2; exit 3")) {
      assertThatThrownBy(() -> peer.ask(Map.of("do", "load"), TIMEOUT))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("fake exited")
          .hasMessageContaining("out of luck");
    }
  }

  @Test
  void a_peer_that_does_not_answer_in_time_causes_an_exception() throws IOException {
    try (PeerProcess peer = peer("read line; read line; read line")) {
      assertThatThrownBy(() -> peer.ask(Map.of("do", "load"), Duration.ofMillis(50)))
          .hasMessageContaining("did not answer");
    }
  }

  @Test
  void an_answer_that_is_not_json_is_an_exception() {
    assertThatThrownBy(() -> PeerProcess.parse("fake", "Starting up..."))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Starting up...");
  }

  @Test
  void times_are_p50_p99_and_max() {
    Times times = Peer.times(JsonMapper.builder().build().readTree("{\"millis\":[1.5,20,300.25]}"));

    assertThat(times).isEqualTo(new Times(1.5, 20, 300.25));
  }
}
