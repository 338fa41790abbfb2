package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rules about the holder of a task and the number and time of its attempts. */
class ClaimingTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  @Test
  void a_claim_of_a_held_task_is_a_double_claim() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.change(id, "RUNNING", 2, 2, "another");

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_fence_delivered_twice_is_a_double_claim() {
    String id = story.completed(99);
    story.deliver(id, 1, 99, "200");

    assertThat(broken(Rule.R4)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_delivered_task_is_not_reclaimed_before_its_lease_expires() {
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
  void a_decreasing_version_is_a_stale_write() {
    story.alter(Table.TASK_LOG, row -> row.fields().has("from_version"), "to_version", 0);

    assertThat(broken(Rule.R6)).hasSize(1);
  }

  @Test
  void a_result_for_the_claim_of_another_holder_is_a_stale_write() {
    String id = story.submit(99, "http");
    long first = story.claim(id);
    story.deliver(id, first, 99, "200");
    story.end(id, "PENDING");
    story.claim(id);
    story.end(id, "COMPLETED");

    assertThat(broken(Rule.R6)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_report_accepted_after_its_claim_is_a_stale_write() {
    String id = story.submit(99, "pull");
    long first = story.claim(id);
    story.end(id, "PENDING");
    story.claim(id);
    Fields report = Fields.of("id", id).and("fence", first).and("outcome", "completed");
    story.ok("work-report", report, Fields.of("result", "accepted"));

    assertThat(broken(Rule.R6)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_claim_counts_an_attempt() {
    story.alter(Table.TASK_LOG, row -> "RUNNING".equals(row.text("to_state")), "to_attempt", 0);

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly(
            "claimed with fence 1 without counting the attempt",
            "fence 1 was sent as attempt 1, but is attempt 0");
  }

  @Test
  void the_end_of_an_attempt_counts_it_unless_it_is_released() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.change(id, "PENDING", 0, fence, "");

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly("fence 1 ended attempt 1, but 0 attempts were counted then");

    story.row(
        Table.ATTEMPT,
        Fields.of("tenant", 1)
            .and("task", id)
            .and("attempt", 1)
            .and("fence", fence)
            .and("outcome", "RELEASED"));

    assertThat(broken(Rule.R7)).isEmpty();
  }

  @Test
  void an_attempt_is_counted_once() {
    String id = story.submit(99, "http");
    long fence = story.claim(id);
    story.change(id, "COMPLETED", 2, fence, "");

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly("fence 1 ended attempt 1, but 2 attempts were counted then");
  }

  @Test
  void a_worker_receives_the_number_of_its_attempt() {
    String id = story.submit(99, "pull");
    long fence = story.claim(id);
    Fields task = Fields.of("id", id).and("fence", fence).and("attempt", 2).and("n", 99);
    Fields request = Fields.of("tenant", "a").and("worker", "w").and("max", 1);
    story.ok("work-claim", request, Fields.of("tasks", List.of(task)));

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly("fence 1 was sent as attempt 2, but is attempt 1");
  }

  @Test
  void a_task_has_no_more_attempts_than_allowed() {
    String id = story.dead(99);
    story.deliver(id, 4, 99, "500");

    assertThat(broken(Rule.R7))
        .extracting(Violation::what)
        .containsExactly(
            "fence 4 was delivered, but is not recorded", "4 attempts, but 3 are allowed");
  }

  @Test
  void a_delivery_before_it_is_due_is_early() {
    String id = story.submit(99, "http", story.now() + 60_000_000);
    story.deliver(id, 1, 99, "200");

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_retry_before_its_retry_after_is_early() {
    String id = story.submit(99, "http");
    story.deliver(id, story.claim(id), 99, "429");
    story.end(id, "PENDING");
    story.deliver(id, story.claim(id), 99, "200");

    assertThat(broken(Rule.R8)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_claim_returns_no_more_tasks_than_requested() {
    story.alter(e -> e.is(Kind.INVOKE, "work-claim"), "max", 0);

    assertThat(broken(Rule.R8B)).hasSize(1);
  }

  @Test
  void a_finished_task_stays_finished() {
    String id = story.completed(99);
    story.change(id, "PENDING", 1, 1, "");

    assertThat(broken(Rule.R9)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_read_never_shows_a_finished_task_as_running() {
    Fields read = Fields.of("tenant", "a").and("id", story.completed(99));
    story.ok("get", read, Fields.of("state", "COMPLETED").and("version", 3));
    story.ok("get", read, Fields.of("state", "RUNNING").and("version", 4));

    assertThat(broken(Rule.R9)).hasSize(1);
  }
}
