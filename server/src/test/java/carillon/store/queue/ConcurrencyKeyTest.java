package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.store.tasks.TaskPatch;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ConcurrencyKeyTest {

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
  }

  @AfterEach
  void close() {
    world.close();
  }

  private static NewTask keyed(String key) {
    return TestTask.of("t").payload("{}").target(new Target.Discard()).concurrencyKey(key).build();
  }

  private List<ClaimedTask> claimAll() {
    List<ClaimedTask> claimed = new ArrayList<>();
    Partition today = Partition.of(world.clock.instant());
    world.catalog.lanes().forEach(lane -> claimed.addAll(world.claim(today, lane, "node", 10)));
    return claimed;
  }

  private void makeReady() {
    world.sql("UPDATE carillon.task SET ready_at = now() - interval '1 s' WHERE state = 'PENDING'");
  }

  @Test
  void tasks_with_the_same_key_are_claimed_one_after_the_other() {
    world.create(keyed("k"));
    world.create(keyed("k"));
    makeReady();

    List<ClaimedTask> first = claimAll();
    assertThat(first).hasSize(1);
    assertThat(claimAll()).isEmpty();
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(first.getFirst(), new Outcome.Completed(null, null))),
            Set.of(),
            "node");

    assertThat(claimAll()).hasSize(1);
  }

  @Test
  void concurrent_claims_never_run_one_key_twice() throws Exception {
    for (int i = 0; i < 40; i++) {
      world.create(keyed("k" + i % 4));
    }
    makeReady();

    List<ClaimedTask> claimed = new ArrayList<>();
    try (ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Future<List<ClaimedTask>>> futures = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        futures.add(threads.submit(this::claimAll));
      }
      for (Future<List<ClaimedTask>> future : futures) {
        claimed.addAll(future.get());
      }
    }

    assertThat(claimed).hasSize(4);
    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("4");
  }

  @Test
  void an_edit_during_a_claim_leaves_no_key_behind() throws Exception {
    TaskId id = world.create(keyed("k"));
    makeReady();
    try (ExecutorService editor = Executors.newSingleThreadExecutor()) {
      for (int round = 0; round < 40; round++) {
        Future<?> edit =
            editor.submit(
                () ->
                    world.db.inTransaction(
                        tx ->
                            world.tasks.patch(
                                tx,
                                World.TENANT,
                                id,
                                new TaskPatch(null, null, "{\"edited\": true}", null, null, null),
                                "test",
                                null)));
        List<ClaimedTask> claimed = claimAll();
        edit.get();
        for (ClaimedTask task : claimed) {
          world
              .store
              .outcomes()
              .finishAttempts(List.of(new Attempted(task, released())), Set.of(), "node");
        }
        assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("0");
        makeReady();
      }
    }
    await().until(() -> !claimAll().isEmpty());
  }

  private static Outcome released() {
    return new Outcome.Released(Failure.of(FailureKind.SHUTDOWN, "test"));
  }

  @Test
  void a_reaped_claim_frees_its_key() {
    world.create(keyed("k"));
    makeReady();
    assertThat(claimAll()).hasSize(1);
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");

    world
        .store
        .claims()
        .lapsed(10)
        .forEach(
            lost ->
                world
                    .store
                    .claims()
                    .reap(
                        lost,
                        (_, _) ->
                            new Outcome.RetryAt(
                                Instant.now(), Failure.of(FailureKind.LEASE_LOST, "lost"))));

    assertThat(world.value("SELECT count(*) FROM carillon.running_key")).isEqualTo("0");
  }
}
