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

/** The ledger of the client: each task has its effect on the user's database once. */
class LedgerTest {

  private final Database database = new Database(Postgres.emptyDatabase());
  // Not the common pool: it may have one thread, and the test needs two.
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Ledger ledger = Ledger.of(database.dataSource());

  @BeforeEach
  void create() throws SQLException {
    ledger.createTable();
    ledger.createTable();
    database.execute("CREATE TABLE effect (n int)");
  }

  @Test
  void a_task_delivered_twice_has_its_effect_once() throws SQLException {
    UUID id = UUID.randomUUID();

    assertThat(ledger.once(new Delivered(id, 1), LedgerTest::effect)).isTrue();
    assertThat(ledger.once(new Delivered(id, 2), LedgerTest::effect)).isFalse();

    assertThat(effects()).isEqualTo(1);
    assertThat(ledger.isProcessed(id)).isTrue();
    assertThat(ledger.isProcessed(UUID.randomUUID())).isFalse();
  }

  @Test
  void work_that_throws_is_rolled_back_with_the_mark() throws SQLException {
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
  void a_second_delivery_waits_for_the_transaction_of_the_first() throws Exception {
    UUID id = UUID.randomUUID();
    CountDownLatch hasBegun = new CountDownLatch(1);
    CountDownLatch mayCommit = new CountDownLatch(1);
    var first =
        CompletableFuture.supplyAsync(
            () ->
                once(
                    new Delivered(id, 1),
                    connection -> {
                      effect(connection);
                      hasBegun.countDown();
                      await().until(() -> mayCommit.getCount() == 0);
                    }),
            threads);
    hasBegun.await();
    var second =
        CompletableFuture.supplyAsync(
            () -> once(new Delivered(id, 2), LedgerTest::effect), threads);
    await().until(() -> database.count(WAITING) == 1);
    mayCommit.countDown();

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
  void a_mark_commits_or_rolls_back_with_the_callers_transaction() throws SQLException {
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
  void only_marks_older_than_the_limit_are_deleted() throws SQLException {
    UUID old = UUID.randomUUID();
    UUID recent = UUID.randomUUID();
    ledger.once(new Delivered(old, 1), connection -> {});
    ledger.once(new Delivered(recent, 1), connection -> {});
    database.execute(
        "UPDATE processed_task SET processed_at = now() - interval '31 days' WHERE task_id = '"
            + old
            + "'");

    assertThat(ledger.forgetBefore(Duration.ofDays(30))).isEqualTo(1);

    assertThat(ledger.isProcessed(old)).isFalse();
    assertThat(ledger.isProcessed(recent)).isTrue();
  }

  @Test
  void the_table_can_be_in_another_schema_but_must_be_a_plain_name() throws SQLException {
    database.execute("CREATE SCHEMA app");
    Ledger other = ledger.inTable("app.done");
    other.createTable();

    assertThat(other.once(new Delivered(UUID.randomUUID(), 1), LedgerTest::effect)).isTrue();

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
