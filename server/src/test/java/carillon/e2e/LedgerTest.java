package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.client.ClaimedTask;
import carillon.client.TaskContext;
import carillon.client.sql.Ledger;
import carillon.client.sql.SqlWork;
import carillon.testkit.Postgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.node.JsonNodeFactory;

/** Processes tasks once on a user's database, whatever comes twice. */
class LedgerTest {

  private final Database database = new Database(Postgres.emptyDatabase());
  // Of its own: the common pool may have one thread, for which both would wait.
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Ledger ledger = Ledger.of(database.dataSource());

  @BeforeEach
  void create() throws SQLException {
    ledger.createTable();
    ledger.createTable();
    database.execute("CREATE TABLE effect (n int)");
  }

  @Test
  void a_task_that_comes_again_has_its_effect_once() throws SQLException {
    UUID id = UUID.randomUUID();

    assertThat(ledger.once(new Delivered(id, 1), LedgerTest::effect)).isTrue();
    assertThat(ledger.once(new Delivered(id, 2), LedgerTest::effect)).isFalse();

    assertThat(effects()).isEqualTo(1);
    assertThat(ledger.isProcessed(id)).isTrue();
    assertThat(ledger.isProcessed(UUID.randomUUID())).isFalse();
  }

  @Test
  void work_that_throws_leaves_neither_effect_nor_mark() throws SQLException {
    Delivered task = new Delivered(UUID.randomUUID(), 1);

    assertThatThrownBy(
            () ->
                ledger.once(
                    task,
                    connection -> {
                      effect(connection);
                      throw new IllegalStateException("no");
                    }))
        .hasMessage("no");

    assertThat(effects()).isZero();
    assertThat(ledger.once(task, LedgerTest::effect)).isTrue();
    assertThat(effects()).isEqualTo(1);
  }

  @Test
  void a_second_delivery_waits_for_the_first_to_commit_or_not() throws Exception {
    UUID id = UUID.randomUUID();
    CountDownLatch isIn = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    var first =
        CompletableFuture.supplyAsync(
            () ->
                once(
                    new Delivered(id, 1),
                    connection -> {
                      effect(connection);
                      isIn.countDown();
                      await().until(() -> goOn.getCount() == 0);
                    }),
            threads);
    isIn.await();
    var second =
        CompletableFuture.supplyAsync(
            () -> once(new Delivered(id, 2), LedgerTest::effect), threads);
    await().until(() -> database.count(WAITING) == 1);
    goOn.countDown();

    assertThat(first.join()).isTrue();
    assertThat(second.join()).isFalse();
    assertThat(effects()).isEqualTo(1);
  }

  private static final String WAITING =
      """
      SELECT count(*)
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND wait_event_type = 'Lock'
        AND query LIKE '/* Ledger.mark */%'
      """;

  @Test
  void a_transaction_of_ones_own_keeps_or_loses_the_mark_with_the_rest() throws SQLException {
    Delivered task = new Delivered(UUID.randomUUID(), 1);
    try (Connection connection = database.dataSource().getConnection()) {
      assertThatThrownBy(() -> ledger.markProcessed(connection, task))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false)");
      connection.setAutoCommit(false);

      assertThat(ledger.markProcessed(connection, task)).isTrue();
      effect(connection);
      connection.rollback();
      assertThat(ledger.markProcessed(connection, task)).isTrue();
      effect(connection);
      connection.commit();
      assertThat(ledger.markProcessed(connection, task)).isFalse();
      connection.rollback();
    }
    assertThat(effects()).isEqualTo(1);
  }

  @Test
  void what_is_old_is_forgotten_and_what_is_not_is_kept() throws SQLException {
    UUID old = UUID.randomUUID();
    UUID young = UUID.randomUUID();
    ledger.once(new Delivered(old, 1), connection -> {});
    ledger.once(new Delivered(young, 1), connection -> {});
    database.execute(
        "UPDATE processed_task SET processed_at = now() - interval '31 days' WHERE task_id = '"
            + old
            + "'");

    assertThat(ledger.forgetBefore(Duration.ofDays(30))).isEqualTo(1);

    assertThat(ledger.isProcessed(old)).isFalse();
    assertThat(ledger.isProcessed(young)).isTrue();
  }

  @Test
  void a_table_may_lie_elsewhere_but_its_name_is_only_a_name() throws SQLException {
    database.execute("CREATE SCHEMA app");
    Ledger elsewhere = ledger.inTable("app.done");
    elsewhere.createTable();

    assertThat(elsewhere.once(new Delivered(UUID.randomUUID(), 1), LedgerTest::effect)).isTrue();

    assertThat(database.count("SELECT count(*) FROM app.done")).isEqualTo(1);
    assertThatThrownBy(() -> ledger.inTable("done; DROP TABLE effect"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private boolean once(TaskContext task, SqlWork work) {
    try {
      return ledger.once(task, work);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void effect(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("INSERT INTO effect VALUES (1)");
    }
  }

  private long effects() {
    return database.count("SELECT count(*) FROM effect");
  }

  /** A delivery of a task. */
  private record Delivered(ClaimedTask task) implements TaskContext {

    Delivered(UUID id, long fence) {
      this(
          new ClaimedTask(
              id,
              "t",
              null,
              1,
              fence,
              Instant.EPOCH,
              JsonNodeFactory.instance.nullNode(),
              null,
              null,
              null,
              null));
    }

    @Override
    public <T> T payload(Class<T> type) {
      throw new UnsupportedOperationException();
    }

    @Override
    public @Nullable Instant leaseUntil() {
      return null;
    }

    @Override
    public void progress(String text) {}

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public void onCancel(Runnable action) {}

    @Override
    public boolean isStale() {
      return false;
    }

    @Override
    public RuntimeException release() {
      return new IllegalStateException();
    }
  }
}
