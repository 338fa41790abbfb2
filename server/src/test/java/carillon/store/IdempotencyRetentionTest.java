package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.NewTask;
import carillon.store.catalog.Replies;
import carillon.store.tasks.Tasks.CreateResult;
import carillon.store.tasks.UniqueTasks;
import carillon.testkit.Postgres;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Stored responses and unique keys are deleted after their window, and never before it ends. */
class IdempotencyRetentionTest {

  private World world;
  private UniqueTasks uniqueTasks;

  @BeforeEach
  void open() {
    world = World.create();
    uniqueTasks = new UniqueTasks(world.db);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void reply(String key) {
    world
        .store
        .replies()
        .once(
            World.TENANT,
            key,
            new byte[] {1},
            _ -> Optional.of(new Replies.Reply(202, null, "done")));
  }

  private TaskId unique(String key, Duration window) {
    NewTask task = TestTask.of("t").key(key).target(new Target.Discard()).uniqueFor(window).build();
    return switch (world.db.<CreateResult>inTransaction(
        tx -> world.tasks.create(tx, World.TENANT, task))) {
      case CreateResult.Created(var created) -> created.id();
      case CreateResult.Existing(var existing) -> existing.id();
      case CreateResult.UnknownType(var type) -> throw new AssertionError(type);
    };
  }

  @Test
  void a_response_is_deleted_after_a_day_in_bounded_batches() {
    for (int i = 0; i < 5; i++) {
      reply("old-" + i);
    }
    world.sql("UPDATE carillon.reply SET created_at = created_at - interval '24 hours 1 second'");
    reply("young");
    world.sql(
        "UPDATE carillon.reply SET created_at = created_at - interval '23 hours' WHERE key ="
            + " 'young'");

    assertThat(world.store.replies().forgetOld(3)).isEqualTo(3);
    assertThat(world.store.replies().forgetOld(3)).isEqualTo(2);
    assertThat(world.store.replies().forgetOld(3)).isZero();
    assertThat(world.value("SELECT string_agg(key, ' ') FROM carillon.reply")).isEqualTo("young");
  }

  @Test
  void a_unique_key_is_deleted_after_its_window_in_bounded_batches() {
    for (int i = 0; i < 5; i++) {
      unique("old-" + i, Duration.ZERO);
    }
    unique("young", Duration.ofMinutes(1));
    await()
        .until(
            () ->
                "t"
                    .equals(
                        world.value(
                            "SELECT bool_and(held_until < clock_timestamp()) FROM"
                                + " carillon.unique_task WHERE key LIKE 'old%'")));

    assertThat(uniqueTasks.forgetOld(3)).isEqualTo(3);
    assertThat(uniqueTasks.forgetOld(3)).isEqualTo(2);
    assertThat(uniqueTasks.forgetOld(3)).isZero();
    assertThat(world.value("SELECT string_agg(key, ' ') FROM carillon.unique_task"))
        .isEqualTo("young");
  }

  @Test
  void a_unique_key_that_is_taken_again_during_its_deletion_is_kept() throws Exception {
    TaskId first = unique("k", Duration.ZERO);
    world.cancel(first);

    deleteDuring(
        "UPDATE carillon.unique_task SET held_until = clock_timestamp() + interval '1 hour'",
        () -> uniqueTasks.forgetOld(10));

    assertThat(world.value("SELECT count(*) FROM carillon.unique_task")).isEqualTo("1");
  }

  @Test
  void a_response_that_is_replaced_during_its_deletion_is_kept() throws Exception {
    reply("k");
    world.sql("UPDATE carillon.reply SET created_at = created_at - interval '25 hours'");

    deleteDuring(
        "UPDATE carillon.reply SET created_at = clock_timestamp()",
        () -> world.store.replies().forgetOld(10));

    assertThat(world.value("SELECT count(*) FROM carillon.reply")).isEqualTo("1");
  }

  private static final String WAITING_FOR_LOCK =
      """
      SELECT count(*)
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND wait_event_type = 'Lock'
      """;

  /**
   * Starts the deletion while a change to the same row is uncommitted, and commits once it waits.
   */
  private void deleteDuring(String change, Runnable delete) throws Exception {
    try (ExecutorService threads = Executors.newSingleThreadExecutor();
        Connection connection = Postgres.connect(world.address);
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      assertThat(statement.executeUpdate(change)).isEqualTo(1);
      Future<?> deletion = threads.submit(delete);
      await().until(() -> world.value(WAITING_FOR_LOCK).equals("1"));
      connection.commit();
      deletion.get();
    }
  }
}
