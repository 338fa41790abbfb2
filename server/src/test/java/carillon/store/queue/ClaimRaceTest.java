package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.store.tasks.TaskPatch;
import carillon.store.tasks.Tasks;
import carillon.testkit.World;
import java.io.BufferedReader;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("slow")
class ClaimRaceTest {

  private static final int TASKS = 6_000;
  private static final int EDITORS = 4;
  private static final int QUOTA = 3;
  private static final int CLAIMED = TASKS - 1_000; // more than are due stay due
  private static final int MAX_RACES = 20; // on a slow machine, few edits hit the moment

  @Test
  void sixteen_threads_of_two_processes_never_claim_the_same_task() throws IOException {
    try (World world = World.create()) {
      List<NewTask> tasks =
          IntStream.range(0, TASKS)
              .mapToObj(i -> World.task("type-" + i % 5, new Target.Discard()))
              .toList();
      world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, tasks));

      List<Process> racers = List.of(racer(world, "a"), racer(world, "b"));
      List<String> claimed = new ArrayList<>();
      for (Process racer : racers) {
        claimed.addAll(lines(racer));
      }

      assertThat(claimed)
          .hasSize(TASKS)
          .doesNotHaveDuplicates()
          .allMatch(line -> line.endsWith(" 1"));
      assertThat(
              world.value(
                  """
                  SELECT count(*) || ' ' || count(DISTINCT held.task)
                  FROM carillon.claim c
                  CROSS JOIN unnest(c.tasks, c.fences) AS held (task, fence)
                  WHERE held.fence = 1
                  """))
          .isEqualTo(TASKS + " " + TASKS);
      assertThat(world.value("SELECT count(DISTINCT leased_by) FROM carillon.claim"))
          .isEqualTo("2");
    }
  }

  private static Process racer(World world, String node) throws IOException {
    String java = ProcessHandle.current().info().command().orElseThrow();
    ProcessBuilder builder =
        new ProcessBuilder(
            java,
            "-XX:TieredStopAtLevel=1",
            "-cp",
            System.getProperty("java.class.path"),
            "carillon.store.queue.ClaimRacer",
            world.address.url(),
            world.address.user(),
            String.valueOf(world.address.password()),
            node,
            "8");
    return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  private static List<String> lines(Process process) throws IOException {
    try (BufferedReader out = process.inputReader()) {
      return out.lines().filter(line -> line.startsWith("claimed ")).toList();
    }
  }

  /**
   * A claim returns fewer tasks than it wanted if one of them is edited between its snapshot and
   * its lock. It must not look as if nothing else were due.
   */
  @Test
  void a_claim_that_misses_an_edited_task_asks_its_lane_again() {
    try (World world = World.create()) {
      world.node("node");
      int missed = 0;
      for (int race = 0; missed == 0 && race < MAX_RACES; race++) {
        missed = raceWithEdits(world);
      }
      assertThat(missed).as("claims that missed a task").isPositive();
    }
  }

  /** Returns how many claims missed a task. */
  private static int raceWithEdits(World world) {
    NewTask task = World.task("t", new Target.Discard());
    var created =
        (Tasks.BatchResult.Created)
            world.db.inTransaction(
                tx -> world.tasks.createAll(tx, World.TENANT, Collections.nCopies(TASKS, task)));
    List<TaskId> ids = created.ids();
    Lane lane = world.catalog.lanes().iterator().next();
    AtomicInteger claimed = new AtomicInteger();
    int missed = 0;
    int forgotten = 0;
    try (ExecutorService threads = Executors.newFixedThreadPool(EDITORS)) {
      for (int i = 0; i < EDITORS; i++) {
        TaskPatch edit = new TaskPatch(null, null, "{\"editor\": " + i + "}", null, null, null);
        threads.execute(
            () -> {
              while (claimed.get() < CLAIMED) {
                TaskId next = ids.get(claimed.get() + ThreadLocalRandom.current().nextInt(QUOTA));
                world.db.inTransaction(
                    tx -> world.tasks.patch(tx, World.TENANT, next, edit, "test", null));
              }
            });
      }
      try {
        while (claimed.get() < CLAIMED) {
          WorkQueue.Claim claim = claim(world, ids.getFirst().partition(), lane);
          forgotten += claim.next().containsKey(lane.id()) ? 0 : 1;
          missed += claim.tasks().size() < QUOTA ? 1 : 0;
          claimed.addAndGet(claim.tasks().size());
        }
      } finally {
        claimed.set(CLAIMED); // ends the editors
      }
    }
    assertThat(world.claim("node", TASKS)).as("tasks that nobody claimed").isNotEmpty();
    assertThat(forgotten).as("claims after which nobody would ask the lane again").isZero();
    return missed;
  }

  private static WorkQueue.Claim claim(World world, Partition partition, Lane lane) {
    return world
        .store
        .queue()
        .claimDue(
            partition,
            List.of(new WorkQueue.Quota(lane, QUOTA, Instant.EPOCH)),
            WorkQueue.Claimant.discard(UUID.randomUUID(), "node"));
  }
}
