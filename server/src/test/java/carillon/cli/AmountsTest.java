package carillon.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AmountsTest {

  @ParameterizedTest
  @CsvSource({"-5, 0s", "0.9, 0s", "119, 119s", "120, 2m", "7199, 119m", "7200, 2h", "172800, 2d"})
  void an_age_is_whole_and_has_one_unit(double seconds, String expected) {
    assertThat(Amounts.age(seconds)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"0, 0ms", "-0.0001, 0ms", "0.0021, +2ms", "-0.5, -500ms", "-3, -3.0s", "180, +3m"})
  void an_offset_has_a_sign(double seconds, String expected) {
    assertThat(Amounts.offset(seconds)).isEqualTo(expected);
  }
}
