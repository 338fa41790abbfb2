package carillon.bench.figures;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PercentilesTest {

  @Test
  void a_percentile_is_a_value_that_was_measured() {
    double[] values = IntStream.rangeClosed(1, 200).mapToDouble(i -> 201 - i).toArray();

    Percentiles percentiles = Percentiles.ofMillis(values);

    assertThat(percentiles.at(50)).isEqualTo(100);
    assertThat(percentiles.at(99)).isEqualTo(198);
    assertThat(percentiles.at(100)).isEqualTo(200);
    assertThat(percentiles.min()).isEqualTo(1);
  }

  @Test
  void one_value_is_every_percentile() {
    Percentiles one = Percentiles.ofNanos(new long[] {2_500_000});

    assertThat(one.at(0)).isEqualTo(2.5);
    assertThat(one.at(99)).isEqualTo(2.5);
  }

  @Test
  void percentiles_of_no_values_are_an_error() {
    assertThatThrownBy(() -> Percentiles.ofMillis(new double[0]))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
