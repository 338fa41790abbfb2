package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Kind;
import java.util.List;
import org.junit.jupiter.api.Test;

class LivenessTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  private void phase(String name) {
    story.event("phase", Fields.of("name", name));
  }

  @Test
  void an_unfinished_task_violates_liveness_but_is_not_lost() {
    String id = story.submit(99, "http");

    assertThat(broken(Rule.R19)).extracting(Violation::task).containsExactly(id);
    assertThat(broken(Rule.R1)).isEmpty();
  }

  @Test
  void an_unacknowledged_task_must_end_too() {
    Fields request = story.submitFields(99, "http", story.now());
    story.ended(Kind.INFO, "submit", request, Fields.of("error", "timeout"));
    story.insert("unknown", 99, story.now());

    assertThat(broken(Rule.R19)).extracting(Violation::task).containsExactly("unknown");
  }

  @Test
  void a_task_that_a_schedule_created_long_before_the_end_must_end() {
    story.insert("old", 99, story.now());
    story.alterTask("old", "schedule", "s");
    story.alterTask("old", "due_at", Story.START);
    story.insert("new", 98, story.now());
    story.alterTask("new", "schedule", "s");
    story.alterTask("new", "due_at", story.now());

    assertThat(broken(Rule.R19)).extracting(Violation::task).containsExactly("old");
  }

  @Test
  void an_unfinished_drain_violates_liveness() {
    story.event("not-drained", Fields.of("tasks", "PENDING x"));

    assertThat(broken(Rule.R19)).hasSize(1);
  }

  @Test
  void a_node_that_exits_by_itself_or_does_not_stop_violates_liveness() {
    Fields node = Fields.of("node", "node-1");
    story.event("node-exit", node.and("life", 1).and("status", 0).and("expected", true));
    story.event("node-exit", node.and("life", 1).and("status", 1).and("expected", false));
    story.event("node-stuck", node);

    assertThat(broken(Rule.R19))
        .extracting(Violation::what)
        .containsExactly("node-1 exited by itself with status 1", "node-1 did not stop in time");
  }

  @Test
  void a_node_without_a_database_may_exit_at_its_start() {
    Fields fault = Fields.of("fault", "pg-crash").and("id", 1);
    Fields node = Fields.of("node", "node-1").and("life", 2);
    story.event("fault-start", fault);
    story.event("node-start", node);
    story.event("node-exit", node.and("status", 1).and("expected", false));
    story.event("fault-end", fault);

    assertThat(broken(Rule.R19)).isEmpty();
  }

  @Test
  void every_kind_of_task_must_progress() {
    String stuck = story.submit(90, "discard");
    story.alterTask(stuck, "due_at", story.now());
    story.after(10);
    phase("liveness");
    story.after(1000);
    story.completed(91);
    story.after(4500);
    phase("heal");
    story.end(stuck, "COMPLETED");

    assertThat(broken(Rule.R19))
        .extracting(Violation::what)
        .containsExactly("no discard task ended from second 0 to 5 of the liveness phase");
  }

  @Test
  void a_task_due_after_recovery_is_delivered_soon() {
    Story late = new Story();
    late.event("phase", Fields.of("name", "drain"));
    late.after(7000);
    String id = late.submit(90, "http");
    late.alterTask(id, "due_at", late.now());
    late.after(6000);
    late.deliver(id, late.claim(id), 90, "200");
    late.end(id, "COMPLETED");
    late.event("phase", Fields.of("name", "check"));

    assertThat(Rule.R19.check(new Facts(late.history())))
        .extracting(Violation::task)
        .containsExactly(id);
  }
}
