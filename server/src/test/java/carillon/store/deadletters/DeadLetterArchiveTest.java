package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.task.TaskState;
import carillon.store.db.Column;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.TaskPatch;
import carillon.store.tasks.TaskView;
import carillon.testkit.OldDeadLetters;
import carillon.testkit.Overlapping;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class DeadLetterArchiveTest {

  private static final Duration TTL = Duration.ofHours(1);
  private static final long UNLIMITED_BYTES = 1 << 30;

  private World world;
  private ExecutorService threads;

  @BeforeEach
  void open() {
    world = World.create();
    threads = Executors.newCachedThreadPool();
  }

  @AfterEach
  void close() {
    threads.close();
    world.close();
  }

  private List<DeadLetterArchive.Letter> oldest(int limit) {
    return world.store.archive().oldest(TTL, limit, UNLIMITED_BYTES).letters();
  }

  private int drop(List<DeadLetterArchive.Letter> letters) {
    return world.store.archive().drop(letters, "file", "node");
  }

  private String count(String table) {
    return world.value("SELECT count(*) FROM carillon." + table);
  }

  @Test
  void letters_past_their_time_to_live_are_read_oldest_first() {
    List<TaskId> ids = OldDeadLetters.insert(world, 3);
    world.sql(
        "UPDATE carillon.dead_letter SET kept_from = now() - interval '59 minutes' WHERE task = '%s'"
            .formatted(ids.get(0)));
    world.sql(
        "UPDATE carillon.dead_letter SET kept_from = now() - interval '1 year' WHERE task = '%s'"
            .formatted(ids.get(2)));

    assertThat(oldest(10))
        .extracting(letter -> letter.task().id())
        .containsExactly(ids.get(2), ids.get(1));
  }

  @Test
  void a_batch_is_limited_by_count_and_by_bytes_but_never_empty() {
    OldDeadLetters.insert(world, 5);
    world.sql("UPDATE carillon.task SET payload = to_json(repeat('x', 100000))::text");

    assertThat(world.store.archive().oldest(TTL, 2, UNLIMITED_BYTES).hasMore()).isTrue();
    assertThat(world.store.archive().oldest(TTL, 2, UNLIMITED_BYTES).letters()).hasSize(2);
    assertThat(world.store.archive().oldest(TTL, 10, 250_000).letters()).hasSize(2);
    assertThat(world.store.archive().oldest(TTL, 10, 250_000).hasMore()).isTrue();
    assertThat(world.store.archive().oldest(TTL, 10, 1).letters()).hasSize(1);
    assertThat(world.store.archive().oldest(TTL, 10, UNLIMITED_BYTES).hasMore()).isFalse();
  }

  @Test
  void a_dropped_letter_takes_its_task_and_history_and_frees_its_partition() {
    OldDeadLetters.insert(world, 3);

    assertThat(drop(oldest(10))).isEqualTo(3);

    for (String table : List.of("task", "dead_letter", "attempt", "transition")) {
      assertThat(count(table)).as(table).isEqualTo("0");
    }
    assertThat(world.value("SELECT sum(letters) FROM carillon.dead_letter_group")).isEqualTo("0");
    assertThat(world.partitions.dropBefore(Partition.of(Instant.now()).next())).isGreaterThan(0);
    assertThat(world.value("SELECT who || action || subject || detail FROM carillon.audit"))
        .isEqualTo("nodedead-letter.archivefile{\"archived\": 3}");
  }

  @Test
  void the_oldest_letters_are_found_by_index_and_their_tasks_by_key() {
    OldDeadLetters.insertBare(world, 20_000);

    String oldest = plan(DeadLetterArchive.OLDEST, TTL, 100);
    String dropping =
        plan(
            Sql.forPartition(DeadLetterArchive.DROP, Partition.of(Instant.now())),
            Column.ints(List.of(1), n -> n),
            Column.uuids(List.of(UUID.randomUUID()), id -> id),
            Column.ints(List.of(1), n -> n),
            Column.instants(List.of(Instant.EPOCH), at -> at));

    assertThat(oldest)
        .contains("Index Scan using dead_letter_oldest on dead_letter")
        .doesNotContain("Seq Scan", "Sort");
    assertThat(dropping).contains("_pkey on task_").doesNotContain("Seq Scan");
  }

  private String plan(String sql, Object... arguments) {
    return world.db.inTransaction(
        tx -> String.join("\n", tx.query("EXPLAIN " + sql, row -> row.getString(1), arguments)));
  }

  @Test
  void a_letter_is_dropped_once() {
    OldDeadLetters.insert(world, 3);
    List<DeadLetterArchive.Letter> letters = oldest(10);

    assertThat(drop(letters)).isEqualTo(3);
    assertThat(drop(letters)).isZero();
    assertThat(count("audit")).isEqualTo("1");
  }

  /** A change of a dead letter while its file is being written. */
  enum Change {
    REDRIVEN,
    PURGED,
    EDITED
  }

  private void run(Tx tx, Change change, TaskId id) {
    switch (change) {
      case REDRIVEN -> world.tasks.redrive(tx, World.TENANT, id, "test", null);
      case PURGED -> purge(tx, id);
      case EDITED -> {
        TaskPatch patch = new TaskPatch(null, null, "{\"edited\": true}", null, null, null);
        world.tasks.patch(tx, World.TENANT, id, patch, "test", null);
      }
    }
  }

  private long purge(Tx tx, TaskId id) {
    var filter =
        new DeadLetterFilter(null, null, null, null, null, null, null, Map.of(), null, List.of(id));
    return world.store.deadLetters().purge(tx, World.TENANT, filter, "test").purged();
  }

  @ParameterizedTest
  @EnumSource(Change.class)
  void a_letter_changed_since_it_was_read_is_not_dropped(Change change) {
    List<TaskId> ids = OldDeadLetters.insert(world, 3);
    List<DeadLetterArchive.Letter> letters = oldest(10);
    world.db.inTransaction(
        tx -> {
          run(tx, change, ids.get(1));
          return true;
        });

    assertThat(drop(letters)).isEqualTo(2);

    assertThat(world.tasks.find(World.TENANT, ids.get(1)).map(TaskView::state).orElse(null))
        .isEqualTo(
            switch (change) {
              case REDRIVEN -> TaskState.PENDING;
              case PURGED -> null;
              case EDITED -> TaskState.DEAD;
            });
  }

  @ParameterizedTest
  @EnumSource(Change.class)
  void a_drop_waits_for_a_change_in_progress_and_then_skips_the_letter(Change change)
      throws InterruptedException, ExecutionException {
    TaskId id = OldDeadLetters.insert(world, 1).getFirst();
    List<DeadLetterArchive.Letter> letters = oldest(10);

    try (var overlapping = new Overlapping(world)) {
      assertThat(overlapping.runWaiting(tx -> run(tx, change, id), () -> drop(letters))).isZero();
    }
    assertThat(count("task")).isEqualTo(change == Change.PURGED ? "0" : "1");
    assertThat(count("transition").equals("0"))
        .as("the history is gone")
        .isEqualTo(change == Change.PURGED);
  }

  @Test
  void concurrent_archive_redrive_and_purge_take_each_letter_once()
      throws InterruptedException, ExecutionException {
    int count = 3_000;
    List<TaskId> ids = OldDeadLetters.insert(world, count);
    Set<TaskId> written = ConcurrentHashMap.newKeySet();
    AtomicInteger archived = new AtomicInteger();
    AtomicInteger redriven = new AtomicInteger();
    Set<TaskId> purged = ConcurrentHashMap.newKeySet();

    Callable<Boolean> archiver =
        () -> {
          for (List<DeadLetterArchive.Letter> batch = oldest(100);
              !batch.isEmpty();
              batch = oldest(100)) {
            batch.forEach(letter -> written.add(letter.task().id()));
            archived.addAndGet(drop(batch));
          }
          return true;
        };
    Callable<Boolean> redriver =
        () -> {
          for (int i = 0; i < count; i += 7) {
            TaskId id = ids.get(i);
            ChangeResult result =
                world.db.inTransaction(
                    tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));
            redriven.addAndGet(result instanceof ChangeResult.Changed ? 1 : 0);
          }
          return true;
        };
    Callable<Boolean> purger =
        () -> {
          for (int i = count - 1; i >= 0; i -= 5) {
            TaskId id = ids.get(i);
            if (world.db.inTransaction(tx -> purge(tx, id)) == 1) {
              purged.add(id);
            }
          }
          return true;
        };
    for (Future<Boolean> result :
        threads.invokeAll(List.of(archiver, archiver, archiver, redriver, purger))) {
      assertThat(result.get()).isTrue();
    }

    assertThat(archived.get() + redriven.get() + purged.size()).isEqualTo(count);
    assertThat(archived.get()).isPositive();
    assertThat(count("dead_letter")).isEqualTo("0");
    assertThat(count("task WHERE state = 'PENDING'")).isEqualTo(String.valueOf(redriven.get()));
    assertThat(count("task WHERE state <> 'PENDING'")).isEqualTo("0");
    assertThat(world.value("SELECT sum(letters) FROM carillon.dead_letter_group")).isEqualTo("0");
    Set<TaskId> gone = new HashSet<>(ids);
    gone.removeIf(id -> world.tasks.find(World.TENANT, id).isPresent());
    gone.removeAll(purged);
    assertThat(written).as("tasks that disappeared without a purge").containsAll(gone);
    assertThat(gone).hasSize(archived.get());
  }
}
