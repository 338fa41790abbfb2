package carillon.chaos.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HistoryTest {

  private static final InstantSource CLOCK =
      InstantSource.fixed(Instant.parse("2027-01-02T03:04:05.000006Z"));

  @TempDir Path directory;

  @Test
  void recorded_events_read_back_unchanged() throws IOException {
    Event event;
    try (Recorder recorder = recorder()) {
      long op = recorder.invoke("submit", Fields.of("tenant", "a").and("n", 7));
      event = recorder.ok(op, "submit", Fields.of("id", "x").and("body", "line\nbreak \u00e9"));
    }

    History history = History.read(directory);

    assertThat(history.events()).hasSize(2).last().isEqualTo(event);
    assertThat(history.events().getFirst().is(Kind.INVOKE, "submit")).isTrue();
    assertThat(event.wall()).isEqualTo(1_798_859_045_000_006L);
  }

  private Recorder recorder() throws IOException {
    return new Recorder(directory.resolve(History.EVENTS), CLOCK);
  }

  @Test
  void events_of_many_threads_have_one_order() throws IOException, InterruptedException {
    try (Recorder recorder = recorder()) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        threads.add(
            Thread.ofVirtual()
                .start(
                    () -> {
                      for (int n = 0; n < 100; n++) {
                        recorder.event("seen", Fields.of("n", n));
                      }
                    }));
      }
      for (Thread thread : threads) {
        thread.join();
      }
    }

    List<Event> events = History.read(directory).events();

    assertThat(events).extracting(Event::seq).hasSize(800).isSorted().doesNotHaveDuplicates();
    assertThat(events).extracting(Event::t).isSorted();
  }

  @Test
  void a_truncated_last_line_is_ignored() throws IOException {
    try (Recorder recorder = recorder()) {
      recorder.event("seen", Fields.none());
    }
    Files.writeString(
        directory.resolve(History.EVENTS), "{\"seq\":2,\"t\"", StandardOpenOption.APPEND);

    assertThat(History.read(directory).events()).hasSize(1);
  }

  @Test
  void numbers_and_text_read_as_microseconds() {
    Fields fields =
        Fields.read(
            """
            {"a": 1000001, "b": "1970-01-01T01:00:01.000001+01:00", "c": "-infinity", "d": null}
            """);

    assertThat(fields.micros("a")).isEqualTo(1_000_001);
    assertThat(fields.micros("b")).isEqualTo(1_000_001);
    assertThat(fields.micros("c")).isEqualTo(Long.MIN_VALUE);
    assertThat(fields.micros("d")).isNull();
  }

  @Test
  void an_error_names_the_missing_field() {
    assertThatThrownBy(() -> Fields.of("a", 1).need("b"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("no b in {\"a\":1}");
  }
}
