package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.security.SecureRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class KeyTextTest {

  @Test
  void a_key_has_a_prefix_160_random_bits_and_a_checksum() {
    String key = KeyText.generate(new SecureRandom());

    assertThat(key).matches("carillon_[0-9A-Za-z]{33}");
    assertThat(KeyText.isWellFormed(key)).isTrue();
  }

  @Test
  void keys_differ() {
    SecureRandom random = new SecureRandom();

    assertThat(Stream.generate(() -> KeyText.generate(random)).limit(1000)).doesNotHaveDuplicates();
  }

  @Test
  void a_typing_error_anywhere_is_noticed() {
    String key = KeyText.generate(new SecureRandom());

    for (int i = 0; i < key.length(); i++) {
      char other = key.charAt(i) == 'x' ? 'y' : 'x';
      assertThat(KeyText.isWellFormed(key.substring(0, i) + other + key.substring(i + 1)))
          .isFalse();
    }
    assertThat(KeyText.isWellFormed("")).isFalse();
    assertThat(KeyText.isWellFormed(key + "0")).isFalse();
  }
}
