package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SweeperTest {

  @ParameterizedTest
  @CsvSource({"PT0S, PT1S", "PT0.02S, PT1S", "PT0.1S, PT5S", "PT0.4S, PT20S", "PT5S, PT20S"})
  void the_rest_after_a_sweep_grows_with_its_duration_up_to_a_limit(Duration sweep, Duration rest) {
    assertThat(Sweeper.restAfter(sweep)).isEqualTo(rest);
  }
}
