package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyTextTest {

  @Test
  void a_key_can_be_read_back_and_none_is_like_another() {
    Random random = new Random(1);
    Stream<KeyText> keys = Stream.generate(() -> KeyText.random(random)).limit(1_000);

    assertThat(keys.map(key -> KeyText.parse(key.text()).orElseThrow().id()))
        .doesNotHaveDuplicates();
  }

  @Test
  void one_wrong_character_is_noticed() {
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
  void what_is_no_key_is_not_taken_for_one(String text) {
    assertThat(KeyText.parse(text)).isEmpty();
  }

  @Test
  void printing_a_key_does_not_give_it_away() {
    KeyText key = KeyText.random(new Random(3));

    assertThat(key.toString()).isEqualTo("carillon_" + key.id()).isNotEqualTo(key.text());
  }
}
