package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class BodyExcerptTest {

  @Test
  void an_empty_body_is_null() {
    assertThat(text(new byte[0])).isNull();
    assertThat(text(new byte[10])).isNull();
  }

  @Test
  void invalid_utf8_is_replaced() {
    assertThat(text(new byte[] {'a', (byte) 0xff, 'b', (byte) 0xe2, (byte) 0x82}))
        .isEqualTo("a\ufffdb\ufffd");
  }

  @Test
  void a_truncated_character_is_dropped() {
    String body = "x".repeat(4093) + "\ud83d\ude00" + "y";

    assertThat(text(body.getBytes(StandardCharsets.UTF_8))).isEqualTo("x".repeat(4093));
  }

  @Test
  void any_bytes_become_text_that_fits_and_can_be_stored() {
    var random = new Random(7);
    for (int i = 0; i < 500; i++) {
      byte[] body = new byte[100 + random.nextInt(6000)];
      random.nextBytes(body);

      String text = Objects.requireNonNull(text(body));

      assertThat(text).doesNotContain("\u0000");
      byte[] stored = text.getBytes(StandardCharsets.UTF_8);
      assertThat(stored).hasSizeLessThanOrEqualTo(4096);
      assertThat(new String(stored, StandardCharsets.UTF_8)).isEqualTo(text);
    }
  }

  private static @Nullable String text(byte[] body) {
    var excerpt = new BodyExcerpt();
    excerpt.add(body, body.length);
    return excerpt.text();
  }
}
