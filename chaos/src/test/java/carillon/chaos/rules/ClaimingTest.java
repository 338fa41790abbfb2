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
    story.alter(e -> e.is("recv-start"), "payloadHash", "other");

    assertThat(broken(Rule.R5)).hasSize(1);
  }

  @Test
  void a_signature_that_is_not_valid_is_seen() {
    story.alter(e -> e.is("recv-start"), "signatureValid", false);

    assertThat(broken(Rule.R5)).hasSize(1);
  }

  @Test
  void a_version_that_goes_down_is_a_zombies() {
    story.alter(Table.TASK_LOG, row -> row.fields().has("from_version"), "to_version", 0);

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
    story.alter(Table.TASK_LOG, row -> "RUNNING".equals(row.text("to_state")), "to_attempt", 0);

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
    story.alter(e -> e.is(Kind.INVOKE, "work-claim"), "max", 0);

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
}
