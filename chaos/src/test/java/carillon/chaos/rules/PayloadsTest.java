package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;

class PayloadsTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken() {
    return Rule.R5.check(new Facts(story.history()));
  }

  /** A delivery with another payload than that of the story. */
  private void deliver(String id, long fence, String payloadHash) {
    story.event(
        "recv-start",
        Fields.of("task", id)
            .and("fence", fence)
            .and("attempt", fence)
            .and("conn", 1)
            .and("n", 99)
            .and("payloadHash", payloadHash));
  }

  @Test
  void a_payload_arrives_unchanged() {
    story.alter(e -> e.is("recv-start"), "payloadHash", "other");

    assertThat(broken()).hasSize(1);
  }

  @Test
  void a_signature_is_valid() {
    story.alter(e -> e.is("recv-start"), "signatureValid", false);

    assertThat(broken()).hasSize(1);
  }

  @Test
  void a_task_is_sent_as_the_last_edit_before_its_claim_left_it() {
    String id = story.submit(99, "http");
    story.edit(id, "first");
    story.edit(id, "second");
    long fence = story.claim(id);
    deliver(id, fence, "second");
    assertThat(broken()).isEmpty();

    deliver(id, fence, "first");
    deliver(id, fence, "hash-99");

    assertThat(broken())
        .extracting(Violation::what)
        .containsExactly(
            "fence 1 was sent with payload hash first, but the edit to version 3 had changed it to"
                + " second",
            "fence 1 was sent with payload hash hash-99, but the edit to version 3 had changed it"
                + " to second");
  }

  @Test
  void an_edit_between_two_attempts_is_sent_with_the_second_only() {
    String id = story.submit(99, "http");
    long first = story.claim(id);
    story.end(id, "PENDING");
    story.edit(id, "edited");
    long second = story.claim(id);
    deliver(id, first, "hash-99"); // arrives late
    deliver(id, second, "edited");
    assertThat(broken()).isEmpty();

    deliver(id, first, "edited");
    deliver(id, second, "hash-99");

    assertThat(broken()).extracting(Violation::task).containsExactly(id, id);
  }

  @Test
  void a_worker_receives_the_last_edit() {
    String id = story.submit(99, "pull");
    story.edit(id, "edited");
    Fields given = Fields.of("id", id).and("fence", story.claim(id)).and("n", 99);
    Fields request = Fields.of("tenant", "a").and("worker", "w").and("max", 1);
    story.ok(
        "work-claim", request, Fields.of("tasks", List.of(given.and("payloadHash", "hash-99"))));

    assertThat(broken()).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void an_edit_without_a_response_may_have_happened() {
    String id = story.submit(99, "http");
    story.edit(id, "known");
    Fields request = Fields.of("tenant", "a").and("id", id);
    story.ended(
        Kind.INFO, "edit", request.and("payloadHash", "unknown"), Fields.of("error", "timeout"));
    story.ended(Kind.FAIL, "edit", request.and("payloadHash", "refused"), Fields.of("status", 409));
    long fence = story.claim(id);
    deliver(id, fence, "known");
    deliver(id, fence, "unknown");
    assertThat(broken()).isEmpty();

    deliver(id, fence, "refused");

    assertThat(broken()).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void an_edit_counts_from_its_response_on_if_the_witness_saw_no_claim() {
    String id = story.submit(99, "http");
    story.edit(id, "edited");
    story.rows.removeIf(row -> row.table() == Table.TASK_LOG && id.equals(row.text("task")));
    deliver(id, 1, "hash-99");

    assertThat(broken()).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_running_task_is_not_edited() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.edit(id, "edited");

    assertThat(broken())
        .extracting(Violation::what)
        .containsExactly("its payload was edited while fence 1 was running");
  }

  @Test
  void an_edit_shortly_before_a_claim_is_an_exposure() {
    String id = story.submit(99, "http");
    story.edit(id, "late");
    story.claim(id);
    story.end(id, "PENDING");
    story.edit(id, "early");
    story.after(60);
    story.claim(id);
    story.end(id, "COMPLETED");

    // One of them is from the clean history.
    assertThat(RacingEdit.in(new Facts(story.history()))).hasSize(2).contains(new RacingEdit(id));
  }
}
