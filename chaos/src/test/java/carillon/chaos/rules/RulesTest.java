package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RulesTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void a_clean_history_breaks_no_rule(Rule rule) {
    assertThat(broken(rule)).isEmpty();
  }

  @Test
  void an_acknowledged_task_that_is_missing_is_lost() {
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
  void a_task_that_ended_without_a_recorded_change_is_lost() {
    String id = story.completed(99);
    story.drop(
        Table.TASK_LOG, row -> id.equals(row.text("task")) && is(row, "to_state", "COMPLETED"));

    assertThat(broken(Rule.R1)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_completed_task_without_an_accepted_delivery_lost_its_effect() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.deliver(id, fence, 99, "500");
    story.end(id, "COMPLETED");

    assertThat(broken(Rule.R1B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_task_whose_submit_failed_is_not_delivered() {
    Fields request = story.submitFields(99, "http", story.now());
    story.ended(Kind.FAIL, "submit", request, Fields.of("status", 422));
    story.deliver("phantom", 1, 99, "200");

    assertThat(broken(Rule.R2)).extracting(Violation::task).containsExactly("phantom");
  }

  @Test
  void a_task_whose_submit_may_have_succeeded_may_be_delivered() {
    Fields request = story.submitFields(99, "http", story.now());
    story.ended(Kind.INFO, "submit", request, Fields.of("error", "timeout"));
    story.deliver("unknown", 1, 99, "200");

    assertThat(broken(Rule.R2)).isEmpty();
  }

  @Test
  void one_key_creates_one_task() {
    story.ok(
        "submit",
        story.submitFields(0, "http", story.now()),
        Fields.of("id", "second").and("status", 202));

    assertThat(broken(Rule.R3)).extracting(Violation::task).containsExactly("second");
  }

  @Test
  void a_delivery_after_success_needs_a_cause() {
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

  private void deadlock(String... statements) {
    story.event("deadlock", Fields.of("statements", String.join(", ", statements)));
    story.event("database-log", Fields.of("deadlocks", 1));
  }

  @ParameterizedTest
  @CsvSource({
    "Outcomes.finish, HeldClaims.retireOver", // the reaper holds the claim, a report its tasks
    "Outcomes.finish, Outcomes.retire",
    "HeldClaims.held, HeldClaims.retireOver",
    "LeaseRenewals.renew, HeldClaims.lock",
    "Outcomes.finish, LeaseRenewals.checkSooner",
    "HeldClaims.stillLapsed, WorkQueue.claimFull"
  })
  void the_reaper_and_a_holder_never_wait_for_each_other(String one, String other) {
    deadlock(one, other);

    assertThat(broken(Rule.R24))
        .extracting(Violation::what)
        .singleElement()
        .asString()
        .contains(one + " and " + other);
  }

  @Test
  void a_deadlock_of_three_statements_is_found() {
    deadlock("Outcomes.finish", "TaskCancels.cancel", "HeldClaims.retireOver");

    assertThat(broken(Rule.R24)).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({
    "Outcomes.finish, Completions.complete", // two batches in different orders
    "WorkQueue.claimFull, WorkQueue.claimFull",
    "FaultInjector.lockTable, HeldClaims.retireOver" // the harness may lock in any order
  })
  void a_deadlock_without_the_reaper_or_claim_rows_is_allowed(String one, String other) {
    deadlock(one, other);

    assertThat(broken(Rule.R24)).isEmpty();
  }

  @Test
  void deadlocks_are_tried_if_the_log_was_read_and_the_reaper_reclaimed_a_task() {
    story.event("database-log", Fields.of("deadlocks", 0));
    assertThat(Rule.R24.isTried(story.history())).isFalse();

    story.row(Table.TRANSITION, Fields.of("task", "t").and("who", "reaper"));

    assertThat(Rule.R24.isTried(story.history())).isTrue();
  }

  @Test
  void a_task_that_is_not_in_exactly_one_of_the_queue_and_the_claims_is_misplaced() {
    Fields row = Fields.of("tenant", 1).and("task", "t").and("queue_rows", 0).and("claims", 0);
    story.row(Table.MISPLACED, row.and("state", "PENDING"));
    story.row(Table.MISPLACED, row.and("queue_rows", 1));
    story.event("misplaced", row.and("queue_rows", 1).and("claims", 1).and("state", "PENDING"));

    assertThat(broken(Rule.R25)).extracting(Violation::task).containsExactly("t", "t", "t");
    assertThat(broken(Rule.R25))
        .extracting(Violation::what)
        .containsExactly(
            "under load PENDING of tenant 1, with 1 rows in the queue and 1 claims",
            "at the end PENDING of tenant 1, with 0 rows in the queue and 0 claims",
            "at the end without a row in the table of tasks of tenant 1, with 1 rows in the queue"
                + " and 0 claims");
  }

  private static boolean is(Row row, String name, String value) {
    return value.equals(row.text(name));
  }
}
