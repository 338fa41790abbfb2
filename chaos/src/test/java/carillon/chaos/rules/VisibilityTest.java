package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rules about visibility: cancels, reads, isolation, records, logs and egress. */
class VisibilityTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  @Test
  void a_cancelled_task_is_not_claimed() {
    String id = story.cancelled(99);
    story.claim(id);

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_running_task_is_not_cancelled_as_if_it_were_pending() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.end(id, "CANCELLED");

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
  }

  /** Cancels a claimed suspect, which its node starts before or after the response. */
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
  void a_suspect_cancelled_while_its_node_holds_it_back_is_not_delivered() {
    String id = cancelledSuspect(true);
    assertThat(broken(Rule.R12)).isEmpty();
    assertThat(CancelledSuspect.in(new Facts(story.history())))
        .hasSize(1); // counted as an exposure

    story.event("poison-call", Fields.of("task", id).and("fence", 1));

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
    assertThat(broken(Rule.R12))
        .extracting(Violation::what)
        .allMatch(w -> w.contains("held it back"));
  }

  @Test
  void a_suspect_that_its_node_has_started_may_be_delivered_after_its_cancel() {
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
  void an_acknowledged_task_is_found() {
    Fields read = Fields.of("tenant", "a").and("id", story.completed(99));
    story.ended(Kind.FAIL, "get", read, Fields.of("status", 404));

    assertThat(broken(Rule.R13)).hasSize(1);
  }

  @Test
  void a_tenant_cannot_read_a_task_of_another() {
    story.alter(e -> e.is(Kind.OK, "foreign-get"), "status", 200);

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void a_task_is_not_delivered_to_another_tenant() {
    story.alter(e -> e.is("recv-start"), "expected", "b");

    assertThat(broken(Rule.R14)).hasSize(1);
  }

  @Test
  void every_task_was_submitted() {
    story.insert("invented", 99, story.now());

    assertThat(broken(Rule.R15)).extracting(Violation::task).containsExactly("invented");
  }

  @Test
  void every_action_has_an_audit_record() {
    story.drop(Table.AUDIT, _ -> true);

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void every_audit_record_has_an_action() {
    story.row(Table.AUDIT, Fields.of("action", "task.cancel").and("subject", "x"));

    assertThat(broken(Rule.R16)).hasSize(1);
  }

  @Test
  void every_dead_task_has_a_dead_letter() {
    story.drop(Table.DEAD_LETTER, _ -> true);

    assertThat(broken(Rule.R17)).hasSize(1);
  }

  @Test
  void every_attempt_of_a_dead_task_is_kept() {
    story.drop(Table.ATTEMPT, _ -> true);

    assertThat(broken(Rule.R17)).hasSize(1);
  }

  @Test
  void two_tasks_of_one_concurrency_key_do_not_run_together() {
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

    // Without the story's own row of the task, which comes last and has no key.
    List<Row> rows = story.rows;
    assertThat(Rule.R18.check(new Facts(History.of(story.events, rows)))).hasSize(1);
  }

  @Test
  void a_liveness_phase_without_progress_violates_liveness() {
    story.event("phase", Fields.of("name", "liveness"));
    story.after(11_000);
    story.event("phase", Fields.of("name", "heal"));

    assertThat(broken(Rule.R19)).hasSize(2);
  }

  @Test
  void more_resources_than_after_warm_up_are_a_warning() {
    Fields node = Fields.of("node", "node-1").and("fds", 10);
    story.event("resources", node.and("phase", "warm").and("threads", 10));
    story.event("resources", node.and("phase", "check").and("threads", 13));

    assertThat(broken(Rule.R20)).hasSize(1);
    assertThat(Findings.of(story.history()).isClean()).isTrue();
  }

  @Test
  void a_response_never_contains_a_stack_trace() {
    Fields trace =
        Fields.of("error", "oops\n\tat carillon.api.http.FrontDoor.handle(FrontDoor.java:1)");
    story.ended(Kind.INFO, "get", Fields.of("tenant", "a").and("id", "x"), trace);

    assertThat(broken(Rule.R21)).hasSize(1);
  }

  @Test
  void a_task_for_a_forbidden_address_is_rejected() {
    story.event("egress", Fields.of("address", "127.0.0.2").and("status", 422));
    assertThat(broken(Rule.R22)).isEmpty();

    story.event("egress", Fields.of("address", "127.0.0.2").and("status", 202));

    assertThat(broken(Rule.R22)).hasSize(1);
  }

  @Test
  void no_connection_goes_to_a_forbidden_address() {
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
  void a_poison_task_is_dead_after_three_crashes() {
    kills(deadOfPoison(99), 3);

    assertThat(broken(Rule.R23)).isEmpty();
  }

  @Test
  void a_poison_task_never_crashes_a_fourth_node() {
    String id = deadOfPoison(99);
    kills(id, 4);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_task_that_crashed_three_nodes_is_not_completed() {
    String id = story.completed(99);
    kills(id, 3);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void an_innocent_task_does_not_die_with_a_poison_task() {
    String innocent = deadOfPoison(98);
    kills(deadOfPoison(99), 3);

    assertThat(broken(Rule.R23)).extracting(Violation::task).containsExactly(innocent);
  }
}
