package carillon.model.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HintTest {

  private static final Partition TODAY = Partition.of(Instant.parse("2026-11-15T10:00:00Z"));

  @Test
  void a_hint_is_parsed_as_it_was_written() {
    Hint hint =
        new Hint(
            "a",
            Set.of(Hint.News.SHARDS, Hint.News.SCHEDULES),
            List.of(
                new Hint.Due(TODAY, 7, Instant.parse("2026-11-15T10:00:00.000123Z")),
                new Hint.Due(TODAY.next(), 8, Instant.EPOCH)));

    assertThat(hint.text()).isEqualTo("a|SHARDS,SCHEDULES|20772,7,1794736800000123;20773,8,0");
    assertThat(Hint.read(hint.text())).contains(hint);
    assertThat(Hint.read("a||")).contains(new Hint("a", Set.of(), List.of()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "a|FROM_ANOTHER_VERSION|1,2",
        "a||1,2,x",
        "a||1,99999999999,3",
        "a||99999999999999,2,3",
        "a||1,2,99999999999999999999",
        "a||;;"
      })
  void unknown_news_and_invalid_entries_are_ignored(String text) {
    assertThat(Hint.read(text)).contains(new Hint("a", Set.of(), List.of()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "hello", "a|b", "a|b|c|d"})
  void a_text_without_three_parts_is_not_a_hint(String text) {
    assertThat(Hint.read(text)).isEmpty();
  }

  @Test
  void the_longest_hint_fits_into_a_notification() {
    Partition far = Partition.of(Instant.parse("9999-12-31T00:00:00Z"));
    Hint.Due due =
        new Hint.Due(far, Integer.MAX_VALUE, Instant.parse("9999-12-31T00:00:00.000001Z"));
    Hint hint =
        new Hint(
            "0123456789ab", Set.of(Hint.News.values()), Collections.nCopies(Hint.MAX_DUE, due));

    assertThat(hint.text().length()).isLessThan(8_000);
  }
}
