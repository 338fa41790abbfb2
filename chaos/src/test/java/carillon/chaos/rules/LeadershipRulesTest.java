package carillon.chaos.rules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Row;
import carillon.chaos.history.Table;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rules about schedules and leadership. */
class LeadershipRulesTest {

  private final Story story = Story.clean(10);

  private List<Violation> broken(Rule rule) {
    return rule.check(new Facts(story.history()));
  }

  @Test
  void a_nominal_time_has_a_fire() {
    story.drop(Table.FIRE, _ -> true);

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("has no fire at");
  }

  @Test
  void a_nominal_time_has_one_fire() {
    story.rows.add(
        story.rows.stream().filter(r -> r.table() == Table.FIRE).findFirst().orElseThrow());

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("two fires");
  }

  @Test
  void a_fire_has_a_nominal_time() {
    story.row(
        Table.FIRE,
        Fields.of("schedule", 9)
            .and("at", Story.START)
            .and("kind", "SCHEDULED")
            .and("skipped", "X"));

    assertThat(broken(Rule.R10))
        .hasSize(1)
        .first()
        .extracting(Violation::what)
        .asString()
        .contains("not a nominal time");
  }

  @Test
  void a_nominal_time_creates_one_task() {
    for (int n = 200; n < 202; n++) {
      story.row(
          Table.TASK,
          Fields.of("tenant", 1)
              .and("id", "t" + n)
              .and("state", "COMPLETED")
              .and("fence", 1)
              .and("schedule", "s")
              .and("fire_at", 5));
    }

    assertThat(broken(Rule.R10)).extracting(Violation::task).containsExactly("t201");
  }

  @Test
  void a_term_has_one_leader() {
    story.leads(2, "node-9-xyz");

    assertThat(broken(Rule.R11)).isNotEmpty();
  }

  @Test
  void a_past_term_writes_nothing() {
    story.alter(Table.SHARD_LOG, row -> row.number("term") == 2, "term", 1);

    assertThat(broken(Rule.R11)).hasSize(1);
  }

  @Test
  void only_the_leader_writes() {
    story.alter(Table.SHARD_LOG, row -> row.number("term") == 2, "leader", "node-7-abc");

    assertThat(broken(Rule.R11)).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"2, 0", "3, 1"})
  void a_resigning_leader_may_finish_a_write_in_its_own_term(int term, int broken) {
    story.rows.add(
        new Row(
            Table.SHARD_LOG,
            Fields.of("seq", 99)
                .and("at", "2026-01-01T00:00:00Z")
                .and("session", "node-1")
                .and("shard", 1)
                .and("term", term)
                .and("in_force", term)));

    assertThat(broken(Rule.R11)).hasSize(broken);
  }

  @Test
  void a_leader_is_not_replaced_before_its_lease_expires() {
    story.alter(Table.LEADER_LOG, row -> row.number("term") == 2, "from_lease", Long.MAX_VALUE);

    assertThat(broken(Rule.R11)).hasSize(1);
  }
}
