package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DuplicatesTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  private void fault(String kind, String node) {
    Fields fault = Fields.of("fault", kind).and("id", kind);
    story.event("fault-start", node.isEmpty() ? fault : fault.and("node", node));
    story.after(10);
    story.event("fault-end", fault);
  }

  private String deliveredTwice() {
    String id = story.completed(98);
    story.deliver(id, 2, 98, "200");
    return id;
  }

  @ParameterizedTest
  @ValueSource(strings = {"pause-short", "sigterm"})
  void a_harmless_fault_explains_no_duplicate(String kind) {
    String id = story.completed(98);
    fault(kind, "node-1");
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_stop_that_became_a_kill_explains_a_duplicate() {
    String id = story.completed(98);
    Fields fault = Fields.of("fault", "sigterm").and("id", 1);
    story.event("fault-start", fault.and("node", "node-1"));
    story.event("node-exit", Fields.of("node", "node-1").and("status", 137));
    story.event("fault-end", fault);
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).isEmpty();
  }

  @Test
  void a_pause_beyond_the_timeout_counts_as_a_timeout() {
    String id = story.submit(98, "http");
    Fields fault = Fields.of("fault", "pause-short").and("id", 1);
    long fence = story.claim(id);
    story.event("fault-start", fault.and("node", "node-1"));
    story.deliver(id, fence, 98, "200");
    story.after(1900);
    story.event("fault-end", fault);
    story.end(id, "PENDING");
    story.deliver(id, story.claim(id), 98, "200");
    story.end(id, "COMPLETED");

    assertThat(Duplicates.in(new Facts(story.history())).explained()).containsKey("timeout");
  }

  @Test
  void a_fault_of_all_nodes_before_the_first_delivery_explains_no_duplicate() {
    fault("kill-all", "");
    story.after(500);
    String id = deliveredTwice();

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_database_crash_explains_duplicates_for_one_more_lease() {
    fault("pg-crash", "");
    story.after(2000);
    deliveredTwice();

    assertThat(broken(Rule.R3B)).isEmpty();

    story.after(10_000);
    String id = story.completed(97);
    story.deliver(id, 2, 97, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_lost_lease_without_a_fault_of_its_holder_explains_no_duplicate() {
    String id = story.submit(98, "http");
    story.deliver(id, story.claim(id), 98, "200");
    story.end(id, "PENDING");
    story.alterLast(Table.TASK_LOG, id, "held_until", Story.START);
    story.deliver(id, story.claim(id), 98, "200");
    story.end(id, "COMPLETED");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void a_fault_does_not_hit_an_unknown_holder() {
    String id = story.completed(98);
    story.alterLast(Table.TASK_LOG, id, "holder", null);
    fault("kill9", "node-1");
    story.deliver(id, 2, 98, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id);
  }

  @Test
  void every_delivery_after_a_success_is_a_duplicate() {
    String id = story.completed(98);
    story.deliver(id, 2, 98, "500");
    story.deliver(id, 3, 98, "200");

    assertThat(broken(Rule.R3B)).extracting(Violation::task).containsExactly(id, id);
  }
}
