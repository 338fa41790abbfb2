package carillon.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TextTest {

  @ParameterizedTest
  @ValueSource(strings = {"", "plain", "grün", "日本語", "😀 ok", "a\\nb"})
  void visible_text_is_unchanged(String text) {
    assertThat(Text.visible(text)).isEqualTo(text);
  }

  @Test
  void control_characters_are_escaped() {
    assertThat(Text.visible("a\nb\r\tc")).isEqualTo("a\\nb\\r\\tc");
    assertThat(Text.visible("\033[2J\u0000\u007f\u009b"))
        .isEqualTo("\\u001b[2J\\u0000\\u007f\\u009b");
    assertThat(Text.visible("safe\u202Egnp.exe")).isEqualTo("safe\\u202egnp.exe");
    assertThat(Text.visible("\u2028\u200b\ufeff")).isEqualTo("\\u2028\\u200b\\ufeff");
    assertThat(Text.visible("\ud800x")).isEqualTo("\\ud800x");
    assertThat(Text.visible("x" + Character.toString(0xE0041))).isEqualTo("x\\u{e0041}");
  }
}
