package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.Callbacks;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.RetryPolicy;
import carillon.store.catalog.Types;
import carillon.store.tasks.Counters;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The cost of a task in PostgreSQL from its creation to its end: rows written, statements and WAL.
 * A change that raises one of them must give the reason here.
 */
@Tag("slow")
class TaskCostTest {

  private static final int TASKS = 10_000;
  private static final String PAYLOAD = "{\"note\":\"" + "x".repeat(290) + "\"}";
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private static final RetryPolicy AT_ONCE =
      new RetryPolicy(
          2,
          null,
          RetryPolicy.Backoff.FIXED,
          Duration.ofMillis(1),
          Duration.ofMillis(1),
          RetryPolicy.Jitter.NONE);

  private World world;
  private ManualNode node;
  private Claimer claimer;

  @BeforeEach
  void open() {
    world = World.create();
    world.countStatements();
    node = new ManualNode(world, "node", TaskCostTest::failFirst, _ -> {});
    claimer = node.claimer(new Seats(TASKS));
  }

  @AfterEach
  void close() {
    node.close();
    world.close();
  }

  @Test
  void a_task_that_succeeds_is_inserted_once_and_updated_once() {
    runToEnd(new Target.Discard(), 1);

    assertThat(writes("task")).isEqualTo("10000 inserted, 10000 updated, 0 deleted");
    assertThat(writes("queue")).isEqualTo("10000 inserted, 0 updated, 10000 deleted");
    assertThat(writes("attempt")).isEqualTo("0 inserted, 0 updated, 0 deleted");
    assertThat(writes("transition")).isEqualTo("0 inserted, 0 updated, 0 deleted");
    assertThat(hotUpdates()).as("updates per task that touch no index: the end").isGreaterThan(0.9);
    assertThat(statements()).as("statements per task").isLessThan(0.005);
    assertThat(walBytes()).as("bytes of WAL per task").isLessThan(1_200);
  }

  @Test
  void completion_touches_no_index_even_under_an_old_snapshot() throws SQLException {
    try (Connection reader =
        DriverManager.getConnection(
            world.address.url(), world.address.user(), world.address.password())) {
      reader.setAutoCommit(false);
      reader.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
      try (Statement statement = reader.createStatement()) {
        statement.execute("SELECT count(*) FROM carillon.task");
      }

      runToEnd(new Target.Discard(), 1);

      assertThat(hotUpdates())
          .as("updates per task that touch no index: the end")
          .isGreaterThan(0.9);
    }
  }

  private static Delivery failFirst(ClaimedTask task) {
    return Delivery.unsent(
        task.attempt() == 1
            ? new DeliveryResult.Failed(Failure.of(FailureKind.TIMEOUT, "late"), null)
            : new DeliveryResult.Accepted(200, null));
  }

  @Test
  void a_failed_attempt_and_its_transitions_are_recorded() {
    runToEnd(HTTP, 2);

    assertThat(writes("task")).isEqualTo("10000 inserted, 20000 updated, 0 deleted");
    assertThat(writes("queue")).isEqualTo("20000 inserted, 0 updated, 20000 deleted");
    assertThat(writes("attempt")).isEqualTo("10000 inserted, 0 updated, 0 deleted");
    assertThat(writes("transition")).isEqualTo("20000 inserted, 0 updated, 0 deleted");
    assertThat(statements()).as("statements per task").isLessThan(0.01);
    assertThat(walBytes()).as("bytes of WAL per task").isLessThan(3_300);
  }

  /** Creates the tasks in batches and runs the loops until all have ended. */
  private void runToEnd(Target target, int attempts) {
    NewTask task = TestTask.of("t").payload(PAYLOAD).build();
    var settings =
        new Types.Settings(
            target,
            AT_ONCE,
            null,
            null,
            null,
            null,
            false,
            null,
            Callbacks.NONE,
            StatusRules.DEFAULT,
            null);
    world.store.types().put(World.TENANT, "t", settings, "test", null);
    world.create(task); // creates the lane and the partition, and fills the plan cache
    world.value(
        """
        SELECT pg_stat_statements_reset(0, oid, 0)
        FROM pg_database
        WHERE datname = current_database()
        """);
    world.db.inTransaction(
        tx -> world.tasks.createAll(tx, World.TENANT, Collections.nCopies(TASKS - 1, task)));
    while (completed() < TASKS) {
      claimer.claimOnce();
      node.completer.flushOnce();
    }
    assertThat(world.value("SELECT min(attempt) || '-' || max(attempt) FROM carillon.task"))
        .isEqualTo(attempts + "-" + attempts);
    world.db.close(); // a backend reports its statistics when it exits, if not earlier
    await().until(() -> backends().equals("0"));
  }

  private long completed() {
    return world.counters.count(Counters.ClaimEnd.COMPLETED);
  }

  private String backends() {
    return world.value(
        """
        SELECT count(*)
        FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name = 'carillon/test'
        """);
  }

  /** Rows written to a table with all its partitions. */
  private String writes(String table) {
    return world.value(
        """
        SELECT format('%%s inserted, %%s updated, %%s deleted', sum(n_tup_ins), sum(n_tup_upd), sum(n_tup_del))
        FROM pg_stat_user_tables
        WHERE schemaname = 'carillon'
          AND relname LIKE '%s\\_2%%'
        """
            .formatted(table));
  }

  private double hotUpdates() {
    return perTask("sum(n_tup_hot_upd) FROM pg_stat_user_tables WHERE relname LIKE 'task\\_2%'");
  }

  private static final String OF_THIS_DATABASE =
      """
       FROM pg_stat_statements s
       JOIN pg_database d ON d.oid = s.dbid
       WHERE d.datname = current_database()
         AND s.query NOT LIKE '%pg_%'
      """;

  private double statements() {
    return perTask("sum(calls)" + OF_THIS_DATABASE);
  }

  /** Excludes full-page images, whose number depends on when checkpoints happen. */
  private double walBytes() {
    return perTask("sum(wal_bytes) - 8192 * sum(wal_fpi)" + OF_THIS_DATABASE);
  }

  private double perTask(String sum) {
    return Double.parseDouble(world.value("SELECT " + sum)) / TASKS;
  }
}
