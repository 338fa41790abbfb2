package carillon.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextTest {

  @ParameterizedTest
  @ValueSource(strings = {"", "plain", "grün", "日本語", "😀 ok", "a\\nb"})
  void what_can_be_seen_stays(String text) {
    assertThat(Text.visible(text)).isEqualTo(text);
  }

  @Test
  void what_steers_a_terminal_or_forges_a_line_is_spelled_out() {
    assertThat(Text.visible("a\nb\r\tc")).isEqualTo("a\\nb\\r\\tc");
    assertThat(Text.visible("\033[2J\u0000\u007f\u009b"))
        .isEqualTo("\\u001b[2J\\u0000\\u007f\\u009b");
    assertThat(Text.visible("safe\u202Egnp.exe")).isEqualTo("safe\\u202egnp.exe");
    assertThat(Text.visible("\u2028\u200b\ufeff")).isEqualTo("\\u2028\\u200b\\ufeff");
    assertThat(Text.visible("\ud800x")).isEqualTo("\\ud800x");
    assertThat(Text.visible("x" + Character.toString(0xE0041))).isEqualTo("x\\u{e0041}");
  }
}
