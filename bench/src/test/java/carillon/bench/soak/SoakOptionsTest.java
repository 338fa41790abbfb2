package carillon.bench.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class SoakOptionsTest {

  @Test
  void a_run_of_an_hour_replaces_the_committed_results() {
    SoakOptions options = SoakOptions.parse();

    assertThat(options.minutes()).isEqualTo(60);
    assertThat(options.rate()).isEqualTo(5_000);
    assertThat(options.every()).isEqualTo(Duration.ofSeconds(15));
    assertThat(options.out()).isEqualTo(Path.of("bench/results"));
  }

  @Test
  void a_shorter_or_slower_run_does_not_replace_the_committed_results() {
    assertThat(SoakOptions.parse("--minutes", "0.5").out())
        .isEqualTo(Path.of("bench/target/results"));
    assertThat(SoakOptions.parse("--rate", "100").out()).isEqualTo(Path.of("bench/target/results"));
  }

  @Test
  void the_database_has_a_directory_of_its_own() {
    assertThat(SoakOptions.parse("--dir", "/data").directory()).isEqualTo(Path.of("/data/soak"));
  }

  @Test
  void the_snapshot_is_held_for_half_of_the_time_and_vacuum_can_catch_up() {
    assertThat(Soak.SNAPSHOT_TO - Soak.SNAPSHOT_FROM).isEqualTo(0.5);
    assertThat(Soak.SNAPSHOT_TO).isLessThan(0.9);
  }

  @Test
  void wrong_values_are_rejected() {
    assertThatThrownBy(() -> SoakOptions.parse("--minutes")).hasMessage("--minutes needs a value");
    assertThatThrownBy(() -> SoakOptions.parse("--rate", "0"))
        .hasMessage("--rate is too small: 0.0");
    assertThatThrownBy(() -> SoakOptions.parse("--quick")).hasMessage("unknown option --quick");
  }
}
