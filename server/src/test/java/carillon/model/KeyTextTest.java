package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyTextTest {

  @Test
  void random_keys_can_be_parsed_and_have_distinct_ids() {
    Random random = new Random(1);
    Stream<KeyText> keys = Stream.generate(() -> KeyText.random(random)).limit(1_000);

    assertThat(keys.map(key -> KeyText.parse(key.text()).orElseThrow().id()))
        .doesNotHaveDuplicates();
  }

  @Test
  void a_key_with_one_wrong_character_is_rejected() {
    String key = KeyText.random(new Random(2)).text();
    for (int i = KeyText.PREFIX.length(); i < key.length(); i++) {
      char other = key.charAt(i) == 'x' ? 'y' : 'x';

      assertThat(KeyText.parse(key.substring(0, i) + other + key.substring(i + 1)))
          .as("at %d", i)
          .isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "carillon_",
        "carillon_x_y",
        "Bearer carillon_",
        "' OR 1=1 --",
        "carillon_\u0000"
      })
  void other_texts_are_not_keys(String text) {
    assertThat(KeyText.parse(text)).isEmpty();
  }

  @Test
  void to_string_shows_the_id_and_not_the_secret() {
    KeyText key = KeyText.random(new Random(3));

    assertThat(key.toString()).isEqualTo("carillon_" + key.id()).isNotEqualTo(key.text());
  }
}
