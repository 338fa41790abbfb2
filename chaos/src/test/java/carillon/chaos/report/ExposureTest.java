package carillon.chaos.report;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import carillon.chaos.report.Exposure.Counter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ExposureTest {

  private final List<Event> events = new ArrayList<>();

  private void add(@Nullable Long op, Kind kind, String what, Fields fields) {
    long seq = events.size() + 1L;
    events.add(new Event(seq, 0, seq * 1_000_000, op, kind, what, fields));
  }

  private void fault(String fault, Fields start, Fields end) {
    Fields common = Fields.of("fault", fault).and("id", events.size());
    add(null, Kind.EVENT, "fault-start", common.and(start));
    add(null, Kind.EVENT, "fault-end", common.and(end));
  }

  private Exposure exposure() {
    return Exposure.of(List.of(History.of(events, List.of())));
  }

  @Test
  void a_repeated_submit_counts_once_and_only_after_a_lost_response() {
    add(1L, Kind.INVOKE, "submit", Fields.of("key", "a"));
    add(1L, Kind.INFO, "submit", Fields.none());
    add(2L, Kind.INVOKE, "submit", Fields.of("key", "a"));
    add(2L, Kind.OK, "submit", Fields.of("id", "x"));
    add(5L, Kind.INVOKE, "submit", Fields.of("key", "a"));
    add(5L, Kind.OK, "submit", Fields.of("id", "x"));
    add(6L, Kind.INVOKE, "submit", Fields.of("key", "c"));
    add(6L, Kind.INFO, "submit", Fields.of("status", 503).and("error", "HTTP 503 overloaded"));
    add(7L, Kind.INVOKE, "submit", Fields.of("key", "c"));
    add(3L, Kind.INVOKE, "submit", Fields.of("key", "b"));
    add(3L, Kind.FAIL, "submit", Fields.none());
    add(4L, Kind.INVOKE, "submit", Fields.of("key", "b"));
    add(4L, Kind.OK, "submit", Fields.of("id", "y"));

    assertThat(exposure().of(Counter.RESUBMITS)).isEqualTo(1);
    assertThat(exposure().of(Counter.ACKNOWLEDGED)).isEqualTo(2);
  }

  @Test
  void only_attempts_that_could_reach_the_forbidden_address_count_for_egress() {
    add(null, Kind.EVENT, "dial", Fields.of("address", "127.0.0.1").and("allowed", true));
    add(null, Kind.EVENT, "dial", Fields.of("address", "127.0.0.2").and("allowed", false));
    add(null, Kind.EVENT, "egress", Fields.of("address", "127.0.0.2").and("status", 422));
    add(null, Kind.EVENT, "egress", Fields.of("address", "127.0.0.2").and("status", 503));
    add(1L, Kind.INVOKE, "submit", Fields.of("key", "a").and("type", "internal"));
    add(1L, Kind.OK, "submit", Fields.of("id", "x"));
    add(2L, Kind.INVOKE, "submit", Fields.of("key", "b").and("type", "web"));
    add(2L, Kind.OK, "submit", Fields.of("id", "y"));

    assertThat(exposure().of(Counter.DIALS)).isEqualTo(1);
    assertThat(exposure().of(Counter.FORBIDDEN)).isEqualTo(2);
  }

  @Test
  void kills_and_crashes_count_only_with_work_in_flight() {
    fault("kill9", Fields.of("inFlight", 2), Fields.none());
    fault("kill9", Fields.of("inFlight", 0), Fields.none());
    fault("pg-crash", Fields.of("acknowledged", 49), Fields.none());
    fault("pg-crash", Fields.of("acknowledged", 50), Fields.none());
    fault("ambiguous-commit", Fields.none(), Fields.of("cuts", 4));
    fault("one-way-partition", Fields.none(), Fields.of("cuts", 4));

    Exposure exposure = exposure();

    assertThat(exposure.of(Counter.FAULTS)).isEqualTo(6);
    assertThat(exposure.of(Counter.KINDS)).isEqualTo(4);
    assertThat(exposure.of(Counter.KILLS)).isEqualTo(1);
    assertThat(exposure.of(Counter.CRASHES)).isEqualTo(1);
    assertThat(exposure.of(Counter.AMBIGUOUS)).isEqualTo(4);
  }

  @Test
  void a_pause_counts_if_it_was_longer_than_the_lease() {
    add(null, Kind.EVENT, "options", Fields.of("leaseMs", 1_500));
    fault("pause-long", Fields.of("inFlight", 1), Fields.none());
    Fields common = Fields.of("fault", "pause-long").and("id", "long");
    add(null, Kind.EVENT, "fault-start", common.and("inFlight", 1));
    add(null, Kind.EVENT, "other", Fields.none());
    add(null, Kind.EVENT, "fault-end", common);

    assertThat(exposure().of(Counter.PAUSES)).isEqualTo(1);
  }

  @Test
  void a_fault_that_failed_or_hit_nothing_does_not_count() {
    fault("backend-kill-claim", Fields.none(), Fields.of("ended", 0));
    fault("ambiguous-commit", Fields.none(), Fields.of("cuts", 0));
    Fields common = Fields.of("fault", "lock-table").and("id", "x");
    add(null, Kind.EVENT, "fault-start", common);
    add(null, Kind.EVENT, "fault-failed", common.and("error", "no"));
    add(null, Kind.EVENT, "fault-end", common);
    fault("backend-kill-claim", Fields.none(), Fields.of("ended", 3));

    assertThat(exposure().of(Counter.FAULTS)).isEqualTo(1);
    assertThat(exposure().of(Counter.KINDS)).isEqualTo(1);
  }

  @Test
  void stale_writes_of_nodes_and_late_workers_count() {
    Fields report = Fields.of("outcome", "completed");
    add(1L, Kind.INVOKE, "work-report", report.and("late", true));
    add(1L, Kind.OK, "work-report", Fields.of("result", "stale"));
    add(2L, Kind.INVOKE, "work-report", report);
    add(2L, Kind.OK, "work-report", Fields.of("result", "stale"));
    add(null, Kind.EVENT, "metric", metric("carillon_completer_fenced_total", 3));
    add(null, Kind.EVENT, "metric", metric("carillon_stale_terms_total", 5));

    assertThat(exposure().of(Counter.STALE)).isEqualTo(4);
    assertThat(exposure().of(Counter.FENCED)).isEqualTo(3);
    assertThat(exposure().of(Counter.STALE_TERMS)).isEqualTo(5);
  }

  private static Fields metric(String name, double value) {
    return Fields.of("name", name).and("value", value);
  }

  @Test
  void a_restarted_leader_is_not_another_leader() {
    List<Row> rows = new ArrayList<>();
    List<String> leaders = List.of("node-1-a", "node-1-b", "node-2-c", "node-1-b");
    for (int i = 0; i < leaders.size(); i++) {
      rows.add(
          new Row(
              Table.LEADER_LOG, Fields.of("seq", i).and("term", i).and("node", leaders.get(i))));
    }

    Exposure exposure = Exposure.of(List.of(History.of(events, rows)));

    assertThat(exposure.of(Counter.LEADERS)).isEqualTo(2);
  }

  @Test
  void a_task_that_was_claimed_in_the_transaction_that_created_it_is_an_immediate_start() {
    List<Row> rows = new ArrayList<>();
    for (String task : List.of("immediate", "later")) {
      Fields change = Fields.of("task", task).and("at", 1);
      Fields insert = change.and("seq", rows.size()).and("to_state", "PENDING").and("xact", "1");
      Fields claim =
          change
              .and("seq", rows.size() + 1)
              .and("from_state", "PENDING")
              .and("to_state", "RUNNING")
              .and("xact", task.equals("later") ? "2" : "1");
      rows.add(new Row(Table.TASK_LOG, insert));
      rows.add(new Row(Table.TASK_LOG, claim));
    }

    Exposure exposure = Exposure.of(List.of(History.of(events, rows)));

    assertThat(exposure.of(Counter.IMMEDIATE_STARTS)).isEqualTo(1);
  }

  @Test
  void missing_exposure_is_named_and_bounds_are_three_over_n() {
    Exposure exposure = exposure();

    assertThat(exposure.missing()).doesNotContain(Counter.FENCED).hasSize(20);
    assertThat(exposure.bound(Counter.KILLS)).isEqualTo(1);
    assertThat(new Exposure(Map.of(Counter.KILLS, 30L)).bound(Counter.KILLS)).isEqualTo(0.1);
  }
}
