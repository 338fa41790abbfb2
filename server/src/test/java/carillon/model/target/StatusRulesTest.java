package carillon.model.target;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.StatusRules.Meaning;
import carillon.model.target.StatusRules.Range;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StatusRulesTest {

  private static Meaning asTheContractSays(int status) {
    if (status == 410) {
      return Meaning.GONE;
    }
    if (status == 408 || status == 425 || status == 429 || status / 100 == 5) {
      return Meaning.RETRY;
    }
    return status / 100 == 2 ? Meaning.SUCCESS : Meaning.DEAD;
  }

  @Test
  void without_lists_every_status_has_the_default_meaning() {
    for (int status = StatusRules.MIN; status <= StatusRules.MAX; status++) {
      assertThat(StatusRules.DEFAULT.of(status))
          .as("status %d", status)
          .isEqualTo(asTheContractSays(status));
    }
  }

  @Test
  void a_list_applies_only_to_the_statuses_in_it() {
    StatusRules rules =
        new StatusRules(
            List.of(Range.of(404), new Range(300, 303)),
            List.of(new Range(400, 403)),
            List.of(Range.of(410), new Range(500, 599)));

    for (int status = StatusRules.MIN; status <= StatusRules.MAX; status++) {
      Meaning expected =
          switch (status) {
            case 404, 300, 301, 302, 303 -> Meaning.SUCCESS;
            case 400, 401, 402, 403 -> Meaning.RETRY;
            case 410 -> Meaning.DEAD;
            default -> status >= 500 ? Meaning.DEAD : asTheContractSays(status);
          };
      assertThat(rules.of(status)).as("status %d", status).isEqualTo(expected);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "5xx, 500, 599",
    "1xx, 100, 199",
    "500-503, 500, 503",
    "503-503, 503, 503",
    "100-599, 100, 599",
    "0xx, , ",
    "6xx, , ",
    "5XX, , ",
    "503, , ",
    "503-500, , ",
    "500-600, , ",
    "99-100, , ",
    "500 - 503, , ",
    "'', , "
  })
  void a_range_is_a_class_or_has_two_ends(
      String text, @Nullable Integer from, @Nullable Integer to) {
    assertThat(Range.parse(text))
        .isEqualTo(
            from == null || to == null ? Optional.empty() : Optional.of(new Range(from, to)));
  }

  @ParameterizedTest
  @CsvSource({"5xx", "500-503", "503-503", "100-599"})
  void a_range_is_formatted_as_it_is_parsed(String text) {
    assertThat(Range.parse(text).orElseThrow()).hasToString(text);
  }

  @Test
  void the_first_shared_status_of_two_ranges_is_found() {
    assertThat(new Range(500, 599).shared(Range.of(503))).contains(503);
    assertThat(new Range(400, 450).shared(new Range(440, 460))).contains(440);
    assertThat(new Range(400, 450).shared(new Range(451, 460))).isEmpty();
  }
}
