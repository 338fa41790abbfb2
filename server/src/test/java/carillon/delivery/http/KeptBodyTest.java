package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class KeptBodyTest {

  @Test
  void nothing_is_kept_as_nothing() {
    assertThat(kept(new byte[0])).isNull();
    assertThat(kept(new byte[10])).isNull();
  }

  @Test
  void what_is_no_utf8_is_replaced() {
    assertThat(kept(new byte[] {'a', (byte) 0xff, 'b', (byte) 0xe2, (byte) 0x82}))
        .isEqualTo("a\ufffdb\ufffd");
  }

  @Test
  void a_character_that_was_cut_in_two_is_left_out() {
    String body = "x".repeat(4093) + "\ud83d\ude00" + "y";

    assertThat(kept(body.getBytes(StandardCharsets.UTF_8))).isEqualTo("x".repeat(4093));
  }

  @Test
  void whatever_arrives_fits_and_can_be_stored() {
    var random = new Random(7);
    for (int i = 0; i < 500; i++) {
      byte[] body = new byte[100 + random.nextInt(6000)];
      random.nextBytes(body);

      String text = Objects.requireNonNull(kept(body));

      assertThat(text).doesNotContain("\u0000");
      byte[] stored = text.getBytes(StandardCharsets.UTF_8);
      assertThat(stored).hasSizeLessThanOrEqualTo(4096);
      assertThat(new String(stored, StandardCharsets.UTF_8)).isEqualTo(text);
    }
  }

  private static @Nullable String kept(byte[] body) {
    var kept = new KeptBody();
    kept.add(body, body.length);
    return kept.text();
  }
}
