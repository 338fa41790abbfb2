package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Event;
import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RulesTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  private void drop(Table table, Predicate<Row> which) {
    Row row =
        story.rows.stream().filter(r -> r.table() == table).filter(which).findFirst().orElseThrow();
    story.rows.remove(row);
  }

  private void alter(Table table, Predicate<Row> which, String name, Object value) {
    for (int i = 0; i < story.rows.size(); i++) {
      Row row = story.rows.get(i);
      if (row.table() == table && which.test(row)) {
        story.rows.set(i, new Row(table, row.fields().and(name, value)));
        return;
      }
    }
    throw new IllegalArgumentException("no such row");
  }

  private void alter(Predicate<Event> which, String name, Object value) {
    for (int i = 0; i < story.events.size(); i++) {
      Event e = story.events.get(i);
      if (which.test(e)) {
        Fields fields = e.fields().and(name, value);
        story.events.set(
            i, new Event(e.seq(), e.t(), e.wall(), e.op(), e.kind(), e.what(), fields));
        return;
      }
    }
    throw new IllegalArgumentException("no such event");
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void a_clean_history_breaks_no_rule(Rule rule) {
    assertThat(broken(rule)).isEmpty();
  }

  @Test
  void a_task_that_was_acknowledged_and_is_gone_is_lost() {
    story.ok(
        "submit",
        story.submitFields(99, "http", story.now()),
        Fields.of("id", "gone").and("status", 202));

    assertThat(broken(Rule.R1)).extracting(Violation::task).contains("gone");
    assertThat(broken(Rule.R1))
        .extracting(Violation::what)
        .anyMatch(what -> what.contains("1 at the end"));
  }

  @Test
  void a_task_that_ended_without_a_trace_is_lost() {
    String id = story.completed(99);
    drop(Table.TASK_LOG, row -> id.equals(row.text("task")) && is(row, "to_state", "COMPLETED"));

    assertThat(broken(Rule.R1)).extracting(Violation::task).containsExactly(id);
  }

  private static boolean is(Row row, String name, String value) {
    return value.equals(row.text(name));
  }

  @Test
  void a_completed_task_that_nobody_accepted_lost_its_effect() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.deliver(id, fence, 99, "500");
    story.end(id, "COMPLETED");

    assertThat(broken(Rule.R1B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void what_only_failed_to_be_submitted_must_not_be_delivered() {
    Fields asked = story.submitFields(99, "http", story.now());
    story.ended(Kind.FAIL, "submit", asked, Fields.of("status", 422));
    story.deliver("phantom", 1, 99, "200");

    assertThat(broken(Rule.R2)).extracting(Violation::task).containsExactly("phantom");
  }

  @Test
  void what_may_have_been_submitted_may_be_delivered() {
    Fields asked = story.submitFields(99, "http", story.now());
    story.ended(Kind.INFO, "submit", asked, Fields.of("error", "timeout"));
    story.deliver("unknown", 1, 99, "200");

    assertThat(broken(Rule.R2)).isEmpty();
  }

  @Test
  void one_key_makes_one_task() {
    story.ok(
        "submit",
        story.submitFields(0, "http", story.now()),
        Fields.of("id", "second").and("status", 202));

    assertThat(broken(Rule.R3)).extracting(Violation::task).containsExactly("second");
  }

  @Test
  void a_delivery_after_success_needs_a_reason() {
    String id = story.completed(98);
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_fault_of_the_holder_explains_a_duplicate_and_is_counted() {
    String id = story.completed(98);
    Fields fault = Fields.of("fault", "kill9").and("id", 1);
    story.event("fault-start", fault.and("node", "node-1"));
    story.event("fault-end", fault);
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).isEmpty();
    assertThat(Duplicates.in(new Facts(story.history())).explained()).containsEntry("kill9", 1);
  }

  @Test
  void a_fault_of_another_node_explains_nothing() {
    String id = story.completed(98);
    Fields fault = Fields.of("fault", "kill9").and("id", 1);
    story.event("fault-start", fault.and("node", "node-2"));
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_claim_of_what_is_held_is_a_double_claim() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.change(id, "RUNNING", 2, 2, "another");

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_fence_that_is_sent_twice_is_a_double_claim() {
    String id = story.completed(99);
    story.deliver(id, 1, 99, "200");

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void what_is_sent_must_not_be_taken_back_before_the_lease_is_over() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.deliver(id, fence, 99, "200");
    story.end(id, "PENDING");
    story.row(
        Table.TRANSITION,
        Fields.of("task", id)
            .and("at", story.now())
            .and("from_state", "RUNNING")
            .and("fence", fence)
            .and("who", "reaper"));

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_payload_that_changed_on_the_way_is_seen() {
    alter(e -> e.is("recv-start"), "payloadHash", "other");

    assertThat(broken(Rule.R5)).hasSize(1);
  }

  @Test
  void a_signature_that_is_not_valid_is_seen() {
    alter(e -> e.is("recv-start"), "signatureValid", false);

    assertThat(broken(Rule.R5)).hasSize(1);
  }

  @Test
  void a_version_that_goes_down_is_a_zombies() {
    alter(Table.TASK_LOG, row -> row.fields().has("from_version"), "to_version", 0);

    assertThat(broken(Rule.R6)).hasSize(1);
  }

  @Test
  void a_result_over_somebody_elses_claim_is_a_zombies() {
    String id = story.submit(99, "http");
    long first = story.claim(id);
    story.deliver(id, first, 99, "200");
    story.end(id, "PENDING");
    story.claim(id);
    story.end(id, "COMPLETED");

    assertThat(broken(Rule.R6)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_report_that_is_accepted_too_late_is_a_zombies() {
    String id = story.submit(99, "pull");
    long first = story.claim(id);
    story.end(id, "PENDING");
    story.claim(id);
    Fields report = Fields.of("id", id).and("fence", first).and("outcome", "completed");
    story.ok("work-report", report, Fields.of("result", "accepted"));

    assertThat(broken(Rule.R6)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_claim_that_is_not_counted_is_an_overrun() {
    alter(Table.TASK_LOG, row -> "RUNNING".equals(row.text("to_state")), "to_attempt", 0);

    assertThat(broken(Rule.R7)).hasSize(1);
  }

  @Test
  void more_attempts_than_allowed_are_an_overrun() {
    String id = story.dead(99);
    story.deliver(id, 4, 99, "500");

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly("fence 4 was sent, and is not recorded", "4 attempts where 3 are allowed");
  }

  @Test
  void a_delivery_before_it_is_due_is_early() {
    String id = story.submit(99, "http", story.now() + 60_000_000);
    story.deliver(id, 1, 99, "200");

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_retry_before_its_time_is_early() {
    String id = story.submit(99, "http");
    story.deliver(id, story.claim(id), 99, "429");
    story.end(id, "PENDING");
    story.deliver(id, story.claim(id), 99, "200");

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_claim_that_returns_too_much_is_an_over_claim() {
    alter(e -> e.is(Kind.INVOKE, "work-claim"), "max", 0);

    assertThat(broken(Rule.R8B)).hasSize(1);
  }

  @Test
  void what_has_ended_stays_so() {
    String id = story.completed(99);
    story.change(id, "PENDING", 1, 1, "");

    assertThat(broken(Rule.R9)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_read_never_shows_a_task_alive_that_had_ended() {
    Fields read = Fields.of("tenant", "a").and("id", story.completed(99));
    story.ok("get", read, Fields.of("state", "COMPLETED").and("version", 3));
    story.ok("get", read, Fields.of("state", "RUNNING").and("version", 4));

    assertThat(broken(Rule.R9)).hasSize(1);
  }

  @Test
  void a_nominal_time_without_a_fire_is_missed() {
    drop(Table.FIRE, _ -> true);

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("neither");
  }

  @Test
  void a_nominal_time_with_two_fires_is_doubled() {
    story.rows.add(
        story.rows.stream().filter(r -> r.table() == Table.FIRE).findFirst().orElseThrow());

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("twice");
  }

  @Test
  void a_fire_at_no_nominal_time_is_invented() {
    story.row(
        Table.FIRE,
        Fields.of("schedule", 9)
            .and("at", Story.START)
            .and("kind", "SCHEDULED")
            .and("skipped", "X"));

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("never");
  }

  @Test
  void two_tasks_of_one_nominal_time_are_doubled() {
    for (int n = 200; n < 202; n++) {
      story.row(
          Table.TASK,
          Fields.of("tenant", 1)
              .and("id", "t" + n)
              .and("state", "COMPLETED")
              .and("fence", 1)
              .and("schedule", "s")
              .and("fire_at", 5));
    }

    assertThat(broken(Rule.R10)).extracting(Violation::task).containsExactly("t201");
  }

  @Test
  void a_term_has_one_leader() {
    story.leads(2, "node-9-xyz");

    assertThat(broken(Rule.R11)).isNotEmpty();
  }

  @Test
  void nothing_is_written_by_a_term_that_is_over() {
    alter(Table.SHARD_LOG, row -> row.number("term") == 2, "term", 1);

    assertThat(broken(Rule.R11)).hasSize(1);
  }

  @Test
  void nothing_is_written_by_who_does_not_lead() {
    alter(Table.SHARD_LOG, row -> row.number("term") == 2, "leader", "node-7-abc");

    assertThat(broken(Rule.R11)).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"2, 0", "3, 1"})
  void who_resigns_may_end_what_it_writes_in_its_own_term(int term, int broken) {
    story.rows.add(
        new Row(
            Table.SHARD_LOG,
            Fields.of("seq", 99)
                .and("at", "2026-01-01T00:00:00Z")
                .and("session", "node-1")
                .and("shard", 1)
                .and("term", term)
                .and("in_force", term)));

    assertThat(broken(Rule.R11)).hasSize(broken);
  }

  @Test
  void a_leader_is_not_followed_before_its_lease_is_over() {
    alter(Table.LEADER_LOG, row -> row.number("term") == 2, "from_lease", Long.MAX_VALUE);

    assertThat(broken(Rule.R11)).hasSize(1);
  }

  @Test
  void nothing_is_claimed_once_its_cancel_was_answered() {
    String id = story.cancelled(99);
    story.claim(id);

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void what_runs_is_not_cancelled_as_if_it_waited() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.end(id, "CANCELLED");

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_read_is_never_older_than_one_before() {
    Fields read = Fields.of("tenant", "a").and("id", story.completed(99));
    story.ok("get", read, Fields.of("state", "COMPLETED").and("version", 3));
    story.ok("get", read, Fields.of("state", "COMPLETED").and("version", 2));

    assertThat(broken(Rule.R13)).hasSize(1);
  }

  @Test
  void what_was_acknowledged_is_found() {
    Fields read = Fields.of("tenant", "a").and("id", story.completed(99));
    story.ended(Kind.FAIL, "get", read, Fields.of("status", 404));

    assertThat(broken(Rule.R13)).hasSize(1);
  }

  @Test
  void strangers_see_nothing() {
    alter(e -> e.is(Kind.OK, "foreign-get"), "status", 200);

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void nothing_is_delivered_to_strangers() {
    alter(e -> e.is("recv-start"), "expected", "b");

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void what_nobody_submitted_does_not_add_up() {
    story.made("invented", 99, story.now());

    assertThat(broken(Rule.R15)).extracting(Violation::task).containsExactly("invented");
  }

  @Test
  void an_action_without_a_record_is_seen() {
    drop(Table.AUDIT, _ -> true);

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void a_record_without_an_action_is_seen() {
    story.row(Table.AUDIT, Fields.of("action", "task.cancel").and("subject", "x"));

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void a_death_without_its_letter_is_seen() {
    drop(Table.DEAD_LETTER, _ -> true);

    assertThat(broken(Rule.R17)).hasSize(1);
  }

  @Test
  void an_attempt_of_a_dead_task_that_is_not_kept_is_seen() {
    drop(Table.ATTEMPT, _ -> true);

    assertThat(broken(Rule.R17)).hasSize(1);
  }

  @Test
  void two_of_one_concurrency_key_do_not_run_together() {
    for (int n = 98; n < 100; n++) {
      String id = story.submit(n, "http");
      story.claim(id);
      story.row(
          Table.TASK,
          Fields.of("tenant", 1)
              .and("id", id)
              .and("type", "web")
              .and("state", "RUNNING")
              .and("concurrency_key", "k"));
    }

    // The story's own row of the task comes last, and has no key: the rule is asked without it.
    List<Row> rows = story.rows;
    assertThat(Rule.R18.check(new Facts(History.of(story.events, rows)))).hasSize(1);
  }

  @Test
  void a_liveness_phase_without_progress_is_seen() {
    story.event("phase", Fields.of("name", "liveness"));
    story.after(11_000);
    story.event("phase", Fields.of("name", "heal"));

    assertThat(broken(Rule.R19)).hasSize(2);
  }

  @Test
  void a_node_that_has_more_than_when_it_was_warm_is_warned_of() {
    Fields node = Fields.of("node", "node-1").and("fds", 10);
    story.event("resources", node.and("phase", "warm").and("threads", 10));
    story.event("resources", node.and("phase", "check").and("threads", 13));

    assertThat(broken(Rule.R20)).hasSize(1);
    assertThat(Verdict.on(story.history()).isClean()).isTrue();
  }

  @Test
  void a_stack_trace_in_an_answer_is_seen() {
    Fields trace = Fields.of("error", "oops\n\tat carillon.api.FrontDoor.handle(FrontDoor.java:1)");
    story.ended(Kind.INFO, "get", Fields.of("tenant", "a").and("id", "x"), trace);

    assertThat(broken(Rule.R21)).hasSize(1);
  }

  @Test
  void a_dial_to_where_nobody_may_is_seen() {
    story.event("dial", Fields.of("address", "127.0.0.2").and("allowed", false));

    assertThat(broken(Rule.R22)).hasSize(1);
  }
}
