package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.TaskId;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Outcome;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Old and new nodes keep working while the schema is migrated forward and back. */
@Tag("slow")
class MigrationUnderLoadTest {

  private static final int CREATORS = 2;

  private final World world = World.create();
  private final Queue<TaskId> created = new ConcurrentLinkedQueue<>();
  private final Queue<TaskId> completed = new ConcurrentLinkedQueue<>();
  private final AtomicBoolean creating = new AtomicBoolean(true);
  private final AtomicInteger creators = new AtomicInteger(CREATORS);

  @AfterEach
  void close() {
    world.close();
  }

  @Test
  void migrating_back_and_forth_loses_and_repeats_no_task() throws Exception {
    var migrations =
        Migrations.open(world.address.url(), world.address.user(), world.address.password());
    world.node("a");
    world.node("b");
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      Collection<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < CREATORS; i++) {
        workers.add(threads.submit(this::create));
      }
      workers.add(threads.submit(() -> finish("a")));
      workers.add(threads.submit(() -> finish("b")));
      try {
        for (int version : List.of(1, 2, 1, 2)) {
          int before = completed.size();
          Awaitility.await().until(() -> completed.size() > before + 100);
          migrations.apply(OptionalInt.of(version));
          assertThat(migrations.current()).isEqualTo(version);
          world
              .store
              .nodes()
              .join(
                  "at-" + version + "-" + before,
                  "n",
                  List.of("engine"),
                  "test",
                  Duration.ofMinutes(1));
        }
        int before = completed.size();
        Awaitility.await().until(() -> completed.size() > before + 100);
      } finally {
        creating.set(false);
      }
      for (Future<?> worker : workers) {
        worker.get();
      }
    }

    assertThat(completed).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(created);
    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED' AND attempt = 1 AND"
                    + " fence = 1"))
        .isEqualTo(String.valueOf(created.size()));
    assertThat(world.value("SELECT count(*) FROM carillon.task"))
        .isEqualTo(String.valueOf(created.size()));
    assertThat(world.value("SELECT count(*) FROM carillon.claim")).isEqualTo("0");
  }

  private void create() {
    try {
      while (creating.get()) {
        created.add(world.discard());
      }
    } finally {
      creators.decrementAndGet(); // the finishing threads run until the last creator has ended
    }
  }

  private void finish(String node) {
    while (creators.get() > 0 || completed.size() < created.size()) {
      List<ClaimedTask> claimed = world.claim(node, 100);
      List<Attempted> outcomes =
          claimed.stream()
              .map(task -> new Attempted(task, new Outcome.Completed(null, null)))
              .toList();
      Set<UUID> claims =
          claimed.stream().map(task -> task.lease().claim()).collect(Collectors.toSet());
      completed.addAll(
          world.store.outcomes().finishAttempts(outcomes, claims, node).states().keySet());
    }
  }
}
