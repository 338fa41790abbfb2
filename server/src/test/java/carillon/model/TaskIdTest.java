package carillon.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.time.LocalDate;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TaskIdTest {

  private static final Random RANDOM = new Random(7);

  @Test
  void an_id_names_the_partition_of_its_due_day() {
    Instant lastMoment = Instant.parse("2027-03-28T23:59:59.999Z");

    assertThat(TaskId.at(lastMoment, RANDOM).partition())
        .isEqualTo(new Partition(LocalDate.of(2027, 3, 28)));
    assertThat(TaskId.at(lastMoment.plusMillis(1), RANDOM).partition())
        .isEqualTo(new Partition(LocalDate.of(2027, 3, 29)));
  }

  @Test
  void ids_sort_by_due_time() {
    Instant start = Instant.parse("2026-11-15T10:00:00Z");
    Stream<String> ids =
        Stream.iterate(start, at -> at.plusMillis(1))
            .limit(500)
            .map(at -> TaskId.at(at, RANDOM).toString());

    assertThat(ids).isSorted().doesNotHaveDuplicates();
  }

  @Test
  void an_id_is_a_uuidv7_that_can_be_parsed_back() {
    TaskId id = TaskId.at(Instant.parse("2026-11-15T10:00:00Z"), RANDOM);

    assertThat(TaskId.parse(id.toString())).contains(id);
    assertThat(id.value().version()).isEqualTo(7);
    assertThat(id.value().variant()).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "1-1-1-1-1",
        "x",
        "01a1debb-c2b7-4ab3-a511-44f69bae00c1",
        "01a1debb-c2b7-7ab3-2511-44f69bae00c1",
        "01a1debb-c2b7-7ab3-a511-44f69bae00c1 ",
        "01a1debbc2b77ab3a51144f69bae00c1",
        "01a1debb-c2b7-7ab3-a511-44f69bae00c1\n",
        "' OR 1=1 --"
      })
  void other_texts_are_not_ids(String text) {
    assertThat(TaskId.parse(text)).isEmpty();
  }
}
