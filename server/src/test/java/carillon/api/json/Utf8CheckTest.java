package carillon.api.json;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class Utf8CheckTest {

  private static boolean passes(byte[] bytes, int size) {
    Utf8Check check = new Utf8Check();
    try {
      for (int from = 0; from < bytes.length; from += size) {
        check.check(bytes, from, Math.min(bytes.length, from + size));
      }
      check.end();
      return true;
    } catch (ApiException e) {
      assertThat(e.code()).isEqualTo(ErrorCode.INVALID_ENCODING);
      return false;
    }
  }

  private static boolean isAllowed(byte[] bytes) {
    try {
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return !text.startsWith("\uFEFF") && text.indexOf('\0') < 0;
    } catch (CharacterCodingException e) {
      return false;
    }
  }

  @Test
  void the_check_agrees_with_the_decoder_of_the_jdk_for_pieces_of_any_size() {
    Random random = new Random(7);
    int allowed = 0;
    for (int i = 0; i < 50_000; i++) {
      byte[] bytes = text(random).getBytes(StandardCharsets.UTF_8);
      for (int broken = random.nextInt(3); broken > 0 && bytes.length > 0; broken--) {
        bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
      }
      boolean expected = isAllowed(bytes);
      allowed += expected ? 1 : 0;

      assertThat(passes(bytes, 1 + random.nextInt(20)))
          .as("%s", java.util.HexFormat.of().formatHex(bytes))
          .isEqualTo(expected);
    }
    assertThat(allowed).isBetween(5_000, 45_000);
  }

  private static String text(Random random) {
    int[] ranges = {0x20, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
    StringBuilder text = new StringBuilder();
    for (int length = random.nextInt(24); length > 0; length--) {
      int range = random.nextInt(3) > 0 ? 0 : 2 * random.nextInt(ranges.length / 2);
      text.appendCodePoint(random.nextInt(ranges[range], ranges[range + 1] + 1));
    }
    return text.toString();
  }

  @Test
  void an_escaped_nul_is_detected_across_pieces() {
    byte[] bytes = "{\"a\":\"some text before \\u0000\"}".getBytes(StandardCharsets.UTF_8);
    for (int piece = 1; piece <= bytes.length; piece++) {
      Utf8Check check = new Utf8Check();
      for (int from = 0; from < bytes.length; from += piece) {
        check.check(bytes, from, Math.min(bytes.length, from + piece));
      }
      assertThat(check.mayHaveNul()).as("pieces of %d", piece).isTrue();
      assertThat(check.isAscii()).isTrue();
    }
  }
}
