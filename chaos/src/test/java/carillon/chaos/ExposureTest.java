package carillon.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.Exposure.Counter;
import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ExposureTest {

  private final List<Event> events = new ArrayList<>();

  private void add(@Nullable Long op, Kind kind, String what, Fields fields) {
    events.add(new Event(events.size() + 1, 0, 0, op, kind, what, fields));
  }

  private Exposure exposure() {
    return Exposure.of(List.of(History.of(events, List.of())));
  }

  @Test
  void a_repeated_submit_counts_only_after_an_answer_that_said_nothing() {
    add(1L, Kind.INVOKE, "submit", Fields.of("key", "a"));
    add(1L, Kind.INFO, "submit", Fields.none());
    add(2L, Kind.INVOKE, "submit", Fields.of("key", "a"));
    add(2L, Kind.OK, "submit", Fields.of("id", "x"));
    add(3L, Kind.INVOKE, "submit", Fields.of("key", "b"));
    add(3L, Kind.FAIL, "submit", Fields.none());
    add(4L, Kind.INVOKE, "submit", Fields.of("key", "b"));
    add(4L, Kind.OK, "submit", Fields.of("id", "y"));

    assertThat(exposure().of(Counter.RESUBMITS)).isEqualTo(1);
    assertThat(exposure().of(Counter.ACKNOWLEDGED)).isEqualTo(2);
  }

  @Test
  void kills_pauses_and_crashes_count_only_where_they_could_hurt() {
    add(null, Kind.EVENT, "fault-start", Fields.of("fault", "kill9").and("inFlight", 2));
    add(null, Kind.EVENT, "fault-start", Fields.of("fault", "kill9").and("inFlight", 0));
    add(null, Kind.EVENT, "fault-start", Fields.of("fault", "pause-long").and("inFlight", 1));
    add(null, Kind.EVENT, "fault-start", Fields.of("fault", "pg-crash").and("acknowledged", 49));
    add(null, Kind.EVENT, "fault-start", Fields.of("fault", "pg-crash").and("acknowledged", 50));
    add(null, Kind.EVENT, "fault-end", Fields.of("fault", "ambiguous-commit").and("cuts", 4));

    Exposure exposure = exposure();

    assertThat(exposure.of(Counter.FAULTS)).isEqualTo(5);
    assertThat(exposure.of(Counter.KINDS)).isEqualTo(3);
    assertThat(exposure.of(Counter.KILLS)).isEqualTo(1);
    assertThat(exposure.of(Counter.PAUSES)).isEqualTo(1);
    assertThat(exposure.of(Counter.CRASHES)).isEqualTo(1);
    assertThat(exposure.of(Counter.AMBIGUOUS)).isEqualTo(4);
  }

  @Test
  void too_little_is_named_and_bounds_are_three_over_n() {
    Exposure exposure = exposure();

    assertThat(exposure.missing()).containsExactly(Counter.values());
    assertThat(exposure.bound(Counter.KILLS)).isEqualTo(1);
    assertThat(new Exposure(Map.of(Counter.KILLS, 30L)).bound(Counter.KILLS)).isEqualTo(0.1);
  }
}
