package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.FailureKind;
import carillon.model.task.TaskState;
import carillon.store.db.StoreException;
import carillon.store.tasks.TaskView;
import carillon.testkit.FakeDeliverer;
import carillon.testkit.OwnPostgres;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The transaction that creates and claims a task is committed, but its node does not learn this.
 * PostgreSQL commits first and then waits for the standby, which does not exist here, until an
 * operator ends the wait or the session.
 */
@Tag("slow")
class LostResponseTest {

  private static final int SEATS = 3;
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);
  private static final String WAITING = "pg_stat_activity WHERE wait_event = 'SyncRep'";

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(strings = {"pg_terminate_backend", "pg_cancel_backend"})
  void a_task_that_was_claimed_without_a_response_is_given_back_and_runs(String end) {
    try (OwnPostgres postgres = new OwnPostgres(directory);
        World world = World.on(postgres.address())) {
      var deliverer = new FakeDeliverer();
      var seats = new Seats(SEATS);
      try (var node = new ManualNode(world, "node", deliverer, _ -> {})) {
        Claimer claimer = node.claimer(seats);
        world.cancel(world.create(World.task("t", HTTP))); // creates the lane
        claimer.claimOnce();
        world.tasks.claimImmediately(claimer);
        execute(postgres, "CREATE SEQUENCE probe");
        setStandby(postgres, "nobody");
        awaitWaits(postgres);

        var created = CompletableFuture.supplyAsync(() -> world.create(World.task("t", HTTP)));
        await().until(() -> waiting(postgres) == 1);
        execute(postgres, "SELECT " + end + "(pid) FROM " + WAITING);

        assertThatThrownBy(created::join).hasCauseInstanceOf(StoreException.class);
        assertThat(seats.free()).isEqualTo(SEATS);
        setStandby(postgres, "");
        TaskId id =
            TaskId.parse(world.value("SELECT id FROM carillon.task WHERE state = 'PENDING'"))
                .orElseThrow();
        assertThat(world.state(id)).isEqualTo(TaskState.RUNNING);
        assertThat(world.value("SELECT count(*) FROM carillon.queue")).isEqualTo("0");

        node.findLostClaims();

        TaskView task = world.find(id);
        assertThat(task.state()).isEqualTo(TaskState.PENDING);
        assertThat(task.last().failure()).isEqualTo(FailureKind.LEASE_LOST);
        assertThat(deliverer.delivered()).isEmpty();
        await()
            .until(
                () -> {
                  claimer.claimOnce();
                  node.completer.flushOnce();
                  return world.state(id) == TaskState.COMPLETED;
                });
        assertThat(deliverer.delivered())
            .extracting(each -> each.id() + " by fence " + each.lease().fence())
            .containsExactly(id + " by fence 2");
        assertThat(seats.free()).isEqualTo(SEATS);
      }
    }
  }

  private static void execute(OwnPostgres postgres, String... statements) {
    try (Connection connection = Postgres.connect(postgres.superuser());
        Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Sets the standby for which commits wait; without a name, all waits end. */
  private static void setStandby(OwnPostgres postgres, String name) {
    execute(
        postgres,
        "ALTER SYSTEM SET synchronous_standby_names = '" + name + "'",
        "SELECT pg_reload_conf()");
  }

  /** Returns once a commit has waited: PostgreSQL applies the setting a moment later. */
  private static void awaitWaits(OwnPostgres postgres) {
    await()
        .until(
            () -> {
              var commit =
                  CompletableFuture.runAsync(
                      () -> execute(postgres, "SELECT nextval('probe'), pg_current_xact_id()"));
              await().until(() -> commit.isDone() || waiting(postgres) == 1);
              boolean waits = !commit.isDone();
              execute(postgres, "SELECT pg_cancel_backend(pid) FROM " + WAITING);
              commit.join();
              return waits;
            });
  }

  private static int waiting(OwnPostgres postgres) {
    try (Connection connection = Postgres.connect(postgres.superuser());
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT count(*) FROM " + WAITING)) {
      row.next();
      return row.getInt(1);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
