package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SuggestionTest {

  private static final List<String> KNOWN =
      List.of("port", "pool-size", "concurrency-key", "--key", "ttl", "priority");

  @ParameterizedTest
  @CsvSource({
    "prot, port",
    "poolsize, pool-size",
    "portt, port",
    "Port, port",
    "Priorty, priority",
    "concurencykey, concurrency-key",
    "--kye, --key"
  })
  void a_misspelled_name_gets_the_closest_known_name(String word, String closest) {
    assertThat(Suggestion.hint(word, KNOWN)).isEqualTo("; did you mean " + closest + "?");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zzzz", "", "sort", "pay", "--hey", "concurrency", "url", "payload"})
  void a_different_word_gets_no_suggestion(String word) {
    assertThat(Suggestion.hint(word, KNOWN)).isEmpty();
  }
}
