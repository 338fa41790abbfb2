package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.testkit.OldDeadLetters;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RestoresTest {

  private World world;
  private List<TaskId> ids;
  private List<ArchivedTask> archived;

  @BeforeEach
  void archive() {
    world = World.create();
    ids = OldDeadLetters.insert(world, 20);
    List<DeadLetterArchive.Letter> letters =
        world.store.archive().oldest(Duration.ofHours(1), 100, 1 << 30).letters();
    world.store.archive().drop(letters, "file", "node");
    archived = letters.stream().map(DeadLetterArchive.Letter::task).toList();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static Restores.Archive inMemory(List<ArchivedTask> tasks) {
    List<Restores.Outline> outlines =
        tasks.stream().map(task -> Restores.Outline.of(task, 0)).toList();
    return new Restores.Archive() {
      @Override
      public List<Restores.Outline> outlines() {
        return outlines;
      }

      @Override
      public ArchivedTask read(int index) {
        return tasks.get(index);
      }
    };
  }

  private int dropPartitions(World node) {
    return node.partitions.dropBefore(Partition.of(Instant.now()).next());
  }

  private Restores.Restored restore(Restores.Prepared prepared) {
    return world.db.inTransaction(tx -> world.store.restores().restore(tx, prepared, "test"));
  }

  @Test
  void a_partition_dropped_during_a_restore_is_created_again() {
    assertThat(dropPartitions(world)).isPositive();
    Restores.Prepared prepared = world.store.restores().prepare(World.TENANT, inMemory(archived));
    try (World other = world.anotherProcess()) {
      assertThat(dropPartitions(other)).isPositive();
    }

    assertThat(restore(prepared)).isEqualTo(new Restores.Restored(20, 0));
    assertThat(dropPartitions(world)).isZero();
    assertThat(world.find(ids.getFirst()).fence()).isEqualTo(2);
  }

  @Test
  void a_partition_is_not_dropped_during_a_restore_into_it() {
    dropPartitions(world);
    Restores.Prepared prepared = world.store.restores().prepare(World.TENANT, inMemory(archived));
    try (World other = world.anotherProcess()) {
      world.db.inTransaction(
          tx -> {
            world.partitions.hold(tx, List.of(ids.getFirst().partition()));
            assertThat(dropPartitions(other)).isZero();
            return world.store.restores().restore(tx, prepared, "test");
          });
    }

    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("20");
  }

  @Test
  void a_restored_task_gets_no_lease_that_a_claim_still_lists() {
    // The task died again under fence 3 and was purged; another task of that claim still runs.
    world.node("node");
    world.sql(
        """
        INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
        VALUES (gen_random_uuid(), 'node', 'node', '%s', '{%d}', '{%s}', '{3}')
        """
            .formatted(
                ids.getFirst().partition().day(), World.TENANT.value(), ids.getFirst().value()));

    restore(world.store.restores().prepare(World.TENANT, inMemory(archived)));

    assertThat(world.find(ids.getFirst()).fence()).isEqualTo(3);
    assertThat(world.find(ids.getLast()).fence()).isEqualTo(2);
  }

  @Test
  void existing_tasks_are_skipped_and_the_others_restored() {
    restore(world.store.restores().prepare(World.TENANT, inMemory(archived.subList(0, 5))));
    world.db.inTransaction(
        tx -> world.tasks.redrive(tx, World.TENANT, ids.getFirst(), "test", null));

    assertThat(restore(world.store.restores().prepare(World.TENANT, inMemory(archived))))
        .isEqualTo(new Restores.Restored(15, 5));

    assertThat(world.state(ids.getFirst()).name()).isEqualTo("PENDING");
    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("19");
  }

  @Test
  void concurrent_restores_of_one_file_restore_each_task_once()
      throws InterruptedException, ExecutionException {
    dropPartitions(world);
    Callable<Restores.Restored> restore =
        () -> restore(world.store.restores().prepare(World.TENANT, inMemory(archived)));
    int total = 0;
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      for (Future<Restores.Restored> result :
          threads.invokeAll(List.of(restore, restore, restore, restore))) {
        assertThat(result.get().restored() + result.get().present()).isEqualTo(20);
        total += result.get().restored();
      }
    }

    assertThat(total).isEqualTo(20);
    assertThat(world.value("SELECT count(*) FROM carillon.dead_letter")).isEqualTo("20");
    assertThat(world.value("SELECT count(*) FROM carillon.transition")).isEqualTo("60");
    assertThat(world.value("SELECT count(*) FROM carillon.attempt")).isEqualTo("20");
    assertThat(world.value("SELECT sum(letters) FROM carillon.dead_letter_group")).isEqualTo("20");
  }
}
