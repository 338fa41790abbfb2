package carillon.bench.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.bench.figures.Figures;
import org.junit.jupiter.api.Test;

class StageTest {

  @Test
  void polling_is_more_frequent_at_the_start_and_the_end() {
    long second = 1_000_000_000;

    assertThat(Stage.pauseMillis(0, 1_000, second)).isEqualTo(10);
    assertThat(Stage.pauseMillis(500, 1_000, 5 * second)).isEqualTo(200);
    assertThat(Stage.pauseMillis(990, 1_000, 5 * second)).isBetween(10L, 15L);
  }

  @Test
  void a_timeout_is_noted_in_the_figures() {
    Figures whole = new Stage.Finished(100, 100, 3).noteOn(new Figures());
    Figures part = new Stage.Finished(1_234, 5_000, 60).noteOn(new Figures());

    assertThat(whole.note()).isNull();
    assertThat(part.note()).isEqualTo("only 1,234 of 5,000 tasks had finished after 60 s");
  }
}
