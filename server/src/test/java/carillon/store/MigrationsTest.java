package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Attempted;
import carillon.model.ClaimedTask;
import carillon.model.Failure;
import carillon.model.FailureKind;
import carillon.model.Outcome;
import carillon.model.Target;
import carillon.model.TaskId;
import carillon.testkit.Postgres;
import carillon.testkit.SqlUser;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class MigrationsTest {

  private final Db.Address address = Postgres.emptyDatabase();
  private final Migrations migrations =
      Migrations.open(address.url(), address.user(), address.password());

  @Test
  void every_step_forward_has_a_step_back_and_both_can_be_repeated() throws SQLException {
    for (int version = 1; version <= migrations.latest(); version++) {
      migrations.apply(OptionalInt.of(version));
      assertThat(migrations.current()).isEqualTo(version);
    }
    for (int version = migrations.latest() - 1; version >= 0; version--) {
      migrations.apply(OptionalInt.of(version));
      assertThat(migrations.current()).isEqualTo(version);
    }
    assertThat(objects()).as("left behind after going all the way back").isEqualTo("migration");
    migrations.apply(OptionalInt.empty());
    migrations.apply(OptionalInt.of(0));
    assertThat(objects()).as("left behind the second time").isEqualTo("migration");
  }

  @Test
  void going_back_from_schema_2_writes_the_transitions_that_stood_on_the_rows() {
    try (World world = World.create()) {
      world.node("node");
      TaskId done = world.discard();
      TaskId retried = world.discard();
      world.discard();
      world.discard();
      for (ClaimedTask task : world.claim("node", 3)) {
        Outcome outcome =
            task.id().equals(retried)
                ? new Outcome.RetryAt(
                    world.clock.instant(), Failure.of(FailureKind.TIMEOUT, "late"))
                : new Outcome.Completed(null, null);
        if (task.id().equals(done) || task.id().equals(retried)) {
          world.endings.finish(List.of(new Attempted(task, outcome)), Set.of(), "node");
        }
      }
      String all =
          """
          SELECT string_agg(task || ' ' || from_state || ' ' || to_state || ' ' || fence || ' ' || who || ' ' || at,
                            ', ' ORDER BY task, at)
          FROM carillon.%s
          """;
      String before = world.value(all.formatted("every_transition"));

      Migrations.open(world.address.url(), world.address.user(), world.address.password())
          .apply(OptionalInt.of(1));

      assertThat(world.value(all.formatted("transition"))).isEqualTo(before);
      assertThat(before.split(", ")).hasSize(5);
    }
  }

  @Test
  void going_back_from_schema_9_waits_for_what_is_published_and_keeps_what_has_ended() {
    Target kafka = new Target.Kafka("main", "t", Target.Complete.ON_PUBLISH, null);
    try (World world = World.create()) {
      world.node("node");
      Migrations schema =
          Migrations.open(world.address.url(), world.address.user(), world.address.password());
      world.sql(
          "INSERT INTO carillon.task_type (tenant, name, target)"
              + " VALUES (1, 'typed', '{\"kafka\": {}}')");
      assertThatThrownBy(() -> schema.apply(OptionalInt.of(8)))
          .hasStackTraceContaining("type typed has a broker as its target");
      schema.apply(OptionalInt.empty()); // the steps back to 9 were made
      world.sql("DELETE FROM carillon.task_type WHERE name = 'typed'");
      TaskId id = world.create(World.task("t", kafka));
      assertThatThrownBy(() -> schema.apply(OptionalInt.of(8)))
          .hasStackTraceContaining("task " + id + " has a broker as its target");
      assertThat(schema.current()).isEqualTo(9);
      schema.apply(OptionalInt.empty());

      ClaimedTask claimed = world.claimOne("node");
      world.endings.finish(
          List.of(new Attempted(claimed, new Outcome.Completed(null, null))),
          Set.of(claimed.lease().claim()),
          "node");
      schema.apply(OptionalInt.of(8));

      assertThat(
              world.value(
                  "SELECT route || ' ' || target || ' ' || state FROM carillon.task t"
                      + " JOIN carillon.lane l ON l.id = t.lane"))
          .isEqualTo("PULL {\"pull\": {}} COMPLETED");
      schema.apply(OptionalInt.empty());
      assertThat(world.value("SELECT count(publish) FROM carillon.tenant")).isEqualTo("0");
    }
  }

  private String objects() throws SQLException {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement();
        var row =
            statement.executeQuery(
                """
                SELECT string_agg(name, ' ') FROM (
                    SELECT relname::text AS name FROM pg_class
                    WHERE relnamespace = 'carillon'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
                    UNION ALL
                    SELECT proname::text FROM pg_proc WHERE pronamespace = 'carillon'::regnamespace
                ) AS o
                """)) {
      row.next();
      return row.getString(1);
    }
  }

  @Test
  void going_back_from_schema_10_waits_for_cancels_that_were_asked_for_in_sql()
      throws SQLException {
    try (World world = World.create();
        SqlUser user = SqlUser.owner(world.address)) {
      world.node("node");
      world.discard(); // makes the day
      user.enqueue("'mail', key => 'k'");
      world.claim("node", 2);
      world.claim("node", 2);
      user.cancel("'mail', 'k'");
      Migrations back =
          Migrations.open(world.address.url(), world.address.user(), world.address.password());

      assertThatThrownBy(() -> back.apply(OptionalInt.of(9)))
          .hasStackTraceContaining("wait a second");

      assertThat(back.current()).isEqualTo(10);
      assertThat(world.queue.cancelRequested(10)).isEqualTo(1);
      back.apply(OptionalInt.of(9));
      assertThat(back.current()).isEqualTo(9);
    }
  }

  @Test
  void a_plan_says_what_would_be_done_and_does_nothing() {
    assertThat(migrations.plan(OptionalInt.empty()))
        .hasSize(migrations.latest())
        .allMatch(step -> step.forward() && !step.sql().isBlank());
    assertThat(migrations.current()).isZero();
  }

  @Test
  void a_version_that_does_not_exist_is_refused() {
    assertThatThrownBy(() -> migrations.apply(OptionalInt.of(99)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("there is no version 99");
  }

  @Test
  void a_migration_that_fails_says_where_the_database_stands_and_is_continued_later()
      throws SQLException {
    migrations.apply(OptionalInt.of(10));
    execute("CREATE TABLE carillon.activity (n int)");

    assertThatThrownBy(() -> migrations.apply(OptionalInt.empty()))
        .isInstanceOf(StoreException.class)
        .hasMessage(
            "migration 11__activity.sql failed: relation \"activity\" already exists; the database"
                + " is at version 10 and has nothing of 11: remove the cause and start again");

    assertThat(migrations.current()).isEqualTo(10);
    execute("DROP TABLE carillon.activity");
    migrations.apply(OptionalInt.empty());
    assertThat(migrations.current()).isEqualTo(migrations.latest());
  }

  @Test
  void a_database_with_migration_10_as_it_was_before_its_edit_goes_on() throws SQLException {
    migrations.apply(OptionalInt.of(13));
    execute("UPDATE carillon.migration SET checksum = -1164452387 WHERE version = '10'");

    migrations.apply(OptionalInt.empty());

    assertThat(migrations.current()).isEqualTo(migrations.latest());
    migrations.apply(OptionalInt.empty());
  }

  @Test
  void a_database_that_another_build_migrated_is_refused_in_one_line() throws SQLException {
    migrations.apply(OptionalInt.of(10));
    execute("UPDATE carillon.migration SET checksum = 77 WHERE version = '7'");

    assertThatThrownBy(() -> migrations.apply(OptionalInt.empty()))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("migration 7__more_room.sql of this database differs")
        .hasMessageContaining("(checksum 77, here ")
        .message()
        .doesNotContain("\n");
    assertThat(migrations.current()).isEqualTo(10);
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
