package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is shown to whom, and what is kept of it. */
class SeeingTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
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

  /** Cancels a suspect that was claimed; its node begins with it before or after the answer. */
  private String cancelledSuspect(boolean isHeldBack) {
    String id = story.submit(99, "http");
    story.claim(id);
    if (!isHeldBack) {
      mark(id);
    }
    story.ok("cancel", Fields.of("tenant", "a").and("id", id), Fields.of("status", 202));
    if (isHeldBack) {
      mark(id);
    }
    return id;
  }

  private void mark(String id) {
    story.after(1);
    story.row(
        Table.MARK_LOG, Fields.of("at", story.now()).and("node", "node-1-abc").and("task", id));
  }

  @Test
  void a_suspect_that_is_cancelled_while_its_node_holds_it_back_is_not_sent() {
    String id = cancelledSuspect(true);
    assertThat(broken(Rule.R12)).isEmpty();
    assertThat(HeldBack.in(new Facts(story.history()))).hasSize(1); // counted, as it is right

    story.event("poison-call", Fields.of("task", id).and("fence", 1));

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
    assertThat(broken(Rule.R12)).extracting(Violation::what).allMatch(w -> w.contains("held it"));
  }

  @Test
  void a_suspect_that_its_node_had_begun_with_may_be_sent_after_its_cancel() {
    String id = cancelledSuspect(false);
    story.deliver(id, 1, 99, "200");

    assertThat(broken(Rule.R12)).isEmpty();
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
    story.alter(e -> e.is(Kind.OK, "foreign-get"), "status", 200);

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void nothing_is_delivered_to_strangers() {
    story.alter(e -> e.is("recv-start"), "expected", "b");

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void what_nobody_submitted_does_not_add_up() {
    story.made("invented", 99, story.now());

    assertThat(broken(Rule.R15)).extracting(Violation::task).containsExactly("invented");
  }

  @Test
  void an_action_without_a_record_is_seen() {
    story.drop(Table.AUDIT, _ -> true);

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void a_record_without_an_action_is_seen() {
    story.row(Table.AUDIT, Fields.of("action", "task.cancel").and("subject", "x"));

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void a_death_without_its_letter_is_seen() {
    story.drop(Table.DEAD_LETTER, _ -> true);

    assertThat(broken(Rule.R17)).hasSize(1);
  }

  @Test
  void an_attempt_of_a_dead_task_that_is_not_kept_is_seen() {
    story.drop(Table.ATTEMPT, _ -> true);

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
    Fields trace =
        Fields.of("error", "oops\n\tat carillon.api.http.FrontDoor.handle(FrontDoor.java:1)");
    story.ended(Kind.INFO, "get", Fields.of("tenant", "a").and("id", "x"), trace);

    assertThat(broken(Rule.R21)).hasSize(1);
  }

  @Test
  void a_task_to_where_none_may_go_is_seen_if_it_is_taken() {
    story.event("egress", Fields.of("address", "127.0.0.2").and("status", 422));
    assertThat(broken(Rule.R22)).isEmpty();

    story.event("egress", Fields.of("address", "127.0.0.2").and("status", 202));

    assertThat(broken(Rule.R22)).hasSize(1);
  }

  @Test
  void a_dial_to_where_nobody_may_is_seen() {
    story.event("dial", Fields.of("address", "127.0.0.2").and("allowed", false));

    assertThat(broken(Rule.R22)).hasSize(1);
  }

  private String deadOfPoison(int n) {
    String id = story.submit(n, "http");
    story.claim(id);
    story.end(id, "DEAD");
    story.alterTask(id, "failure", "POISON");
    return id;
  }

  private void kills(String task, int times) {
    for (int i = 0; i < times; i++) {
      story.event("poison-kill", Fields.of("task", task).and("node", "node-1"));
    }
  }

  @Test
  void a_poison_that_is_dead_after_three_nodes_is_as_it_should_be() {
    kills(deadOfPoison(99), 3);

    assertThat(broken(Rule.R23)).isEmpty();
  }

  @Test
  void a_poison_that_kills_a_fourth_node_is_seen() {
    String id = deadOfPoison(99);
    kills(id, 4);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_poison_that_does_not_die_of_it_is_seen() {
    String id = story.completed(99);
    kills(id, 3);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void an_innocent_task_that_dies_with_a_poison_is_seen() {
    String innocent = deadOfPoison(98);
    kills(deadOfPoison(99), 3);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(innocent);
  }
}
