package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
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
  void every_migration_can_be_rolled_back_and_repeated() throws SQLException {
    for (int version = 1; version <= migrations.latest(); version++) {
      migrations.apply(OptionalInt.of(version));
      assertThat(migrations.current()).isEqualTo(version);
    }
    for (int version = migrations.latest() - 1; version >= 0; version--) {
      migrations.apply(OptionalInt.of(version));
      assertThat(migrations.current()).isEqualTo(version);
    }
    assertThat(objects()).as("objects left after rolling back everything").isEqualTo("migration");
    migrations.apply(OptionalInt.empty());
    migrations.apply(OptionalInt.of(0));
    assertThat(objects()).as("objects left after rolling back again").isEqualTo("migration");
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
  void a_rollback_fails_while_cancels_requested_in_sql_are_pending() throws SQLException {
    try (World world = World.create();
        SqlUser user = SqlUser.owner(world.address)) {
      world.node("node");
      world.discard(); // creates the partition
      user.enqueue("'mail', key => 'k'");
      world.claim("node", 2);
      world.claim("node", 2);
      user.cancel("'mail', 'k'");
      Migrations rollback =
          Migrations.open(world.address.url(), world.address.user(), world.address.password());

      assertThatThrownBy(() -> rollback.apply(OptionalInt.of(1)))
          .hasMessageStartingWith("taking back migration 2__sql_api.sql failed: ")
          .hasMessageContaining("wait a second")
          .hasMessageEndingWith("the database is at version 2: remove the cause and repeat");

      assertThat(rollback.current()).isEqualTo(2);
      assertThat(world.store.expiry().applyCancelRequests(10)).isEqualTo(1);
      rollback.apply(OptionalInt.of(1));
      assertThat(rollback.current()).isEqualTo(1);
    }
  }

  @Test
  void migrating_back_and_forth_preserves_tasks_and_their_history() throws SQLException {
    try (World world = World.create();
        SqlUser user = SqlUser.owner(world.address)) {
      world.node("node");
      TaskId retried = world.discard();
      world.discard();
      world.discard();
      for (ClaimedTask task : world.claim("node", 2)) {
        Outcome outcome =
            task.id().equals(retried)
                ? new Outcome.RetryAt(
                    world.clock.instant(), Failure.of(FailureKind.TIMEOUT, "late"))
                : new Outcome.Completed(null, null);
        world
            .store
            .outcomes()
            .finishAttempts(List.of(new Attempted(task, outcome)), Set.of(), "node");
      }
      world.claim("node", 1);
      user.enqueue("'mail', delay => interval '1 hour'");
      String everything =
          """
          SELECT (SELECT string_agg(t::text, ', ' ORDER BY t.id) FROM carillon.task t) || '; ' ||
                 (SELECT string_agg(w::text, ', ' ORDER BY w.task, w.at, w.to_state) FROM carillon.every_transition w)
          """;
      String before = world.value(everything);
      Migrations migrations =
          Migrations.open(world.address.url(), world.address.user(), world.address.password());

      for (int version : List.of(1, 2)) {
        migrations.apply(OptionalInt.of(version));
        assertThat(world.value(everything)).as("at version %d", version).isEqualTo(before);
      }
      assertThat(before).contains("PENDING").contains("RUNNING").contains("COMPLETED");
      user.enqueue("'mail'");
    }
  }

  @Test
  void a_plan_lists_the_steps_and_changes_nothing() {
    assertThat(migrations.plan(OptionalInt.empty()))
        .hasSize(migrations.latest())
        .allMatch(step -> step.forward() && !step.sql().isBlank());
    assertThat(migrations.current()).isZero();
  }

  @Test
  void a_version_that_does_not_exist_is_rejected() {
    assertThatThrownBy(() -> migrations.apply(OptionalInt.of(99)))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("there is no version 99");
  }

  @Test
  void a_failed_migration_reports_the_version_and_can_be_repeated() throws SQLException {
    migrations.apply(OptionalInt.of(1));
    execute("CREATE TABLE carillon.cancel_request (n int)"); // the migration creates others first

    assertThatThrownBy(() -> migrations.apply(OptionalInt.empty()))
        .isInstanceOf(StoreException.class)
        .hasMessage(
            "migration 2__sql_api.sql failed: relation \"cancel_request\" already exists; the"
                + " database is at version 1 and has nothing of 2: remove the cause and start"
                + " again");

    assertThat(migrations.current()).isEqualTo(1);
    execute("DROP TABLE carillon.cancel_request");
    migrations.apply(OptionalInt.empty());
    assertThat(migrations.current()).isEqualTo(migrations.latest());
  }

  @Test
  void a_database_migrated_by_another_build_is_rejected_in_one_line() throws SQLException {
    migrations.apply(OptionalInt.of(1));
    execute("UPDATE carillon.migration SET checksum = 77 WHERE version = '1'");

    assertThatThrownBy(() -> migrations.apply(OptionalInt.empty()))
        .isInstanceOf(StoreException.class)
        .hasMessageContaining("migration 1__schema.sql of this database differs")
        .hasMessageContaining("(checksum 77, here ")
        .message()
        .doesNotContain("\n");
    assertThat(migrations.current()).isEqualTo(1);
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
