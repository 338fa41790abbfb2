package carillon.store.queue;

import carillon.model.Partition;
import carillon.model.task.ClaimedTask;
import carillon.store.db.Db;
import carillon.testkit.World;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** A process that claims from all lanes with many threads and prints the tasks that it claimed. */
final class ClaimRacer {

  private ClaimRacer() {}

  /** Arguments: JDBC URL, user, password, node name, number of threads. */
  public static void main(String[] arguments) {
    var address = new Db.Address(arguments[0], arguments[1], arguments[2]);
    String node = arguments[3];
    try (World world = World.on(address);
        ExecutorService threads = Executors.newFixedThreadPool(Integer.parseInt(arguments[4]))) {
      world.node(node);
      awaitOther(world);
      for (int i = 0; i < Integer.parseInt(arguments[4]); i++) {
        threads.execute(() -> claimAll(world, node));
      }
    }
  }

  /** Waits for the other process, because the first one could otherwise claim all tasks alone. */
  private static void awaitOther(World world) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!world.value("SELECT count(*) FROM carillon.node").equals("2")) {
      if (System.nanoTime() - end > 0) {
        throw new IllegalStateException("the other racer did not start");
      }
    }
  }

  private static void claimAll(World world, String node) {
    for (int empty = 0; empty < 3; ) {
      List<ClaimedTask> claimed = claimSome(world, node);
      empty = claimed.isEmpty() ? empty + 1 : 0;
      claimed.forEach(ClaimRacer::print);
    }
  }

  private static List<ClaimedTask> claimSome(World world, String node) {
    Partition partition = Partition.of(world.clock.instant());
    List<WorkQueue.Quota> quotas = new ArrayList<>();
    world.catalog.lanes().forEach(lane -> quotas.add(new WorkQueue.Quota(lane, 7, Instant.EPOCH)));
    UUID claim = UUID.randomUUID();
    WorkQueue.Claimant claimant =
        ThreadLocalRandom.current().nextBoolean() // covers both kinds of claimers
            ? WorkQueue.Claimant.discard(claim, node)
            : WorkQueue.Claimant.node(claim, node, Integer.MAX_VALUE);
    return world.store.queue().claimDue(partition, quotas, claimant).tasks();
  }

  private static void print(ClaimedTask task) {
    System.out.println("claimed " + task.id() + " " + task.lease().fence());
  }
}
