package carillon.api.json;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NearestTest {

  private static final List<String> KNOWN = List.of("cron", "ttl", "priority");

  @ParameterizedTest
  @CsvSource({
    "corn, ; did you mean cron?",
    "Priorty, ; did you mean priority?",
    "url, ''",
    "payload, ''",
    "'', ''"
  })
  void a_similar_name_is_suggested_and_an_unrelated_one_is_not(String name, String hint) {
    assertThat(Nearest.hint(name, KNOWN)).isEqualTo(hint);
  }
}
