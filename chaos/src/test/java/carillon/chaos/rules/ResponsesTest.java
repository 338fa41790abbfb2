package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.History;
import carillon.chaos.history.Kind;
import carillon.chaos.history.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResponsesTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  @Test
  void a_response_never_contains_the_marker_of_another_tenant() {
    Fields request = Fields.of("tenant", "a").and("id", "x");
    story.ok("get", request, Fields.of("body", "marker-of-a"));
    story.ok("get", request, Fields.of("body", "marker-of-b"));

    assertThat(broken(Rule.R14)).extracting(Violation::task).containsExactly("x");
  }

  @Test
  void a_log_never_contains_a_payload(@TempDir Path directory) throws IOException {
    Path log = directory.resolve("node-1.log");
    Files.writeString(log, "started\nfailed to send marker-of-a\n");
    History history = story.history();
    History logged = new History(history.events(), history.rows(), Map.of("node-1", log));

    assertThat(Rule.R21.check(new Facts(logged))).hasSize(1);
    assertThat(Rule.R21.isTried(logged)).isTrue();
  }

  @Test
  void a_rule_without_anything_to_judge_was_not_tried() {
    assertThat(Findings.of(story.history()).untried())
        .containsExactly(Rule.R18, Rule.R20, Rule.R21, Rule.R22, Rule.R23, Rule.R24, Rule.R25);
    assertThat(Findings.of(story.history()).isTried(Rule.R1)).isTrue();

    story.event("dial", Fields.of("address", "127.0.0.1").and("allowed", true));

    assertThat(Findings.of(story.history()).isTried(Rule.R22)).isTrue();
  }

  @Test
  void the_witness_sees_the_insert_of_every_task() {
    String id = story.completed(99);
    story.rows.removeIf(row -> row.table() == Table.TASK_LOG && row.need("task").equals(id));

    assertThat(broken(Rule.R15)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_rejected_submit_creates_no_task() {
    Fields request = story.submitFields(99, "http", story.now());
    story.ended(Kind.FAIL, "submit", request, Fields.of("status", 422));
    story.insert("refused", 99, story.now());

    assertThat(broken(Rule.R15)).extracting(Violation::task).containsExactly("refused");
  }

  @Test
  void a_schedule_that_must_not_skip_has_a_task_for_every_time() {
    Fields put =
        Fields.of("tenant", "a")
            .and("name", "all")
            .and("every", 2)
            .and("startAt", story.now())
            .and("overlap", "allow");
    story.row(Table.SCHEDULE, Fields.of("id", 10).and("tenant", 1).and("name", "all"));
    Fields fire = Fields.of("schedule", 10).and("at", story.now()).and("kind", "SCHEDULED");
    story.row(Table.FIRE, fire.and("skipped", "OVERLAP"));
    story.ok("schedule-put", put.and("catchUp", "all"), Fields.of("status", 200));

    assertThat(broken(Rule.R10)).extracting(Violation::what).anyMatch(w -> w.contains("skipped"));
  }

  @Test
  void a_read_is_never_older_than_the_response_to_a_cancel() {
    Fields request = Fields.of("tenant", "a").and("id", story.cancelled(99));
    story.ok("cancel", request, Fields.of("status", 200).and("version", 3));
    story.ok("get", request, Fields.of("state", "CANCELLED").and("version", 2));

    assertThat(broken(Rule.R13)).hasSize(1);
  }

  @Test
  void payloads_of_schedules_and_of_submits_without_a_response_are_compared() {
    Fields request = story.submitFields(99, "http", story.now());
    story.ended(Kind.INFO, "submit", request, Fields.of("error", "timeout"));
    story.insert("unknown", 99, story.now());
    story.deliver("unknown", 1, 99, "200");
    assertThat(broken(Rule.R5)).isEmpty();

    Fields put = Fields.of("tenant", "a").and("name", "p").and("every", 2);
    story.ok("schedule-put", put.and("payloadHash", "right"), Fields.of("status", 200));
    story.insert("fired", 98, story.now());
    story.alterTask("fired", "schedule", "p");
    Fields start = Fields.of("fence", 1).and("payloadHash", "wrong");
    story.event("recv-start", start.and("task", "fired"));
    story.event("recv-start", start.and("task", "unknown").and("n", 99));

    assertThat(broken(Rule.R5)).extracting(Violation::task).containsExactly("unknown", "fired");
  }

  @Test
  void a_task_cancelled_while_running_never_becomes_pending_again() {
    String id = story.submit(99, "http");
    story.claim(id);
    story.ok("cancel", Fields.of("tenant", "a").and("id", id), Fields.of("status", 202));
    story.end(id, "PENDING");

    assertThat(broken(Rule.R12)).extracting(Violation::task).containsExactly(id);
  }
}
