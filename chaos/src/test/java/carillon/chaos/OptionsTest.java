package carillon.chaos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OptionsTest {

  @Test
  void the_default_is_three_seeds_and_all_mutants() {
    Options options = Options.parse();

    assertThat(options.seeds()).containsExactly(1L, 2L, 3L);
    assertThat(options.seconds()).isEqualTo(75);
    assertThat(options.mutants()).containsExactly(Options.ALL);
    assertThat(options.out()).isEqualTo(Path.of("chaos/results"));
  }

  @Test
  void a_partial_run_does_not_replace_the_committed_results() {
    Options options = Options.parse("--seeds", "18446744073709551615", "--mutants", "M1,M9");

    assertThat(options.seeds()).containsExactly(-1L);
    assertThat(options.mutants()).containsExactly("M1", "M9");
    assertThat(options.out()).isEqualTo(Path.of("chaos/target/results"));
  }

  @Test
  void the_description_contains_no_paths() {
    assertThat(Options.withoutPaths("--seeds", "1", "--keep", "/a/b"))
        .isEqualTo("--seeds 1 --keep DIR");
    assertThat(Options.parse("--keep", "/a/b").description()).doesNotContain("/a");
  }

  @Test
  void joins_take_five_minutes_by_default() {
    assertThat(Options.parse("--joins").seconds()).isEqualTo(300);
    assertThat(Options.parse("--joins").seeds()).hasSize(1);
    assertThat(Options.parse("--joins", "--seconds", "60").seconds()).isEqualTo(60);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"--wrong", "--seeds", "--seeds x", "--seconds 0", "--old-program /nowhere"})
  void invalid_options_are_rejected(String line) {
    assertThatThrownBy(() -> Options.parse(line.split(" ", -1)))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
