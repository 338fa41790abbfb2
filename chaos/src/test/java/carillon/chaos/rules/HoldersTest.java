package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;

class HoldersTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  private void reaped(String id, long fence) {
    story.row(
        Table.TRANSITION,
        Fields.of("task", id)
            .and("at", story.now())
            .and("from_state", "RUNNING")
            .and("fence", fence)
            .and("who", "reaper"));
  }

  private String claimedByWorker(String tenant, String outcome) {
    String id = story.submit(99, "pull");
    long fence = story.claim(id);
    Fields task = Fields.of("id", id).and("fence", fence).and("n", 99);
    Fields request = Fields.of("tenant", tenant).and("worker", "w").and("max", 1);
    story.ok("work-claim", request, Fields.of("tasks", List.of(task)));
    story.end(id, outcome);
    return id;
  }

  @Test
  void a_task_of_a_worker_is_not_reclaimed_before_its_lease_expires() {
    String id = claimedByWorker("a", "PENDING");
    reaped(id, 1);

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_delivered_task_is_not_reclaimed_from_a_node_without_a_row() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.deliver(id, fence, 99, "none");
    story.end(id, "PENDING");
    story.alterLast(Table.TASK_LOG, id, "held_until", null);
    reaped(id, fence);

    assertThat(broken(Rule.R4)).isEmpty();

    story.row(Table.NODE, Fields.of("id", "node-2-abc"));

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void no_other_node_ends_a_task_that_a_node_holds() {
    for (String state : List.of("COMPLETED", "DEAD", "PENDING")) {
      Story other = new Story();
      other.event("node-start", Fields.of("node", "node-2"));
      String id = other.submit(1, "http");
      other.deliver(id, other.claim(id), 1, "200");
      other.end(id, state);
      other.alterLast(Table.TASK_LOG, id, "session", "node-1");
      assertThat(Rule.R6.check(new Facts(other.history()))).isEmpty();

      other.alterLast(Table.TASK_LOG, id, "session", "node-2");
      assertThat(Rule.R6.check(new Facts(other.history())))
          .extracting(Violation::task)
          .containsExactly(id);

      other.alterLast(Table.TASK_LOG, id, "held_until", Story.START);
      assertThat(Rule.R6.check(new Facts(other.history()))).isEmpty();
    }
  }

  @Test
  void a_result_before_the_response_is_a_stale_write() {
    String id = startedDelivery();
    story.end(id, "COMPLETED");
    story.after(1);
    finishDelivery(id, story.now());

    assertThat(broken(Rule.R6)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void the_end_of_a_delivery_may_be_recorded_long_after_its_response() {
    String id = startedDelivery();
    long answered = story.now();
    story.end(id, "COMPLETED");
    story.after(700);
    finishDelivery(id, answered);

    assertThat(broken(Rule.R6)).isEmpty();
  }

  private String startedDelivery() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.event("recv-start", delivery(id).and("n", 99));
    return id;
  }

  private void finishDelivery(String id, long at) {
    story.event("recv-end", delivery(id).and("status", 200).and("answered", at));
  }

  private static Fields delivery(String id) {
    return Fields.of("task", id).and("fence", 1).and("conn", 1);
  }

  @Test
  void a_pulled_task_completes_with_an_accepted_report() {
    String id = claimedByWorker("a", "COMPLETED");
    Fields report = Fields.of("id", id).and("fence", 1).and("outcome", "completed");
    story.ok("work-report", report, Fields.of("result", "stale"));
    story.ok("work-report", report.and("fence", 0), Fields.of("result", "accepted"));

    assertThat(broken(Rule.R1B)).extracting(Violation::task).containsExactly(id);

    story.ended(Kind.INFO, "work-report", report, Fields.of("error", "timeout"));

    assertThat(broken(Rule.R1B)).isEmpty();
  }

  @Test
  void a_claim_beyond_max_attempts_is_one_attempt_too_many() {
    String id = story.submit(99, "http");
    story.change(id, "RUNNING", 4, 1, "claim");

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .contains("claimed for attempt 4, but 3 attempts are allowed");
  }

  private String triedTwice(String status, long wait) {
    String id = story.submit(99, "http");
    story.deliver(id, 1, 99, status);
    story.after(wait);
    story.deliver(id, 2, 99, "200");
    return id;
  }

  @Test
  void a_retry_right_after_a_reset_is_early() {
    String id = triedTwice("rst", 100);

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_retry_before_the_timeout_of_a_silent_target_is_early() {
    String id = triedTwice("none", 1000);

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_retry_after_the_timeout_of_a_silent_target_is_not_early() {
    triedTwice("none", 2450);

    assertThat(broken(Rule.R8)).isEmpty();
  }

  @Test
  void a_worker_never_receives_a_task_of_another_tenant() {
    String id = claimedByWorker("b", "COMPLETED");

    assertThat(broken(Rule.R14)).extracting(Violation::task).containsExactly(id);
  }
}
