package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Kills a node with all seats taken and restarts it, like a supervisor. Prints how long the
 * innocent tasks take to end. The full measurement, with 0, 1 and 2 poison tasks among 512: {@code
 * -Dcarillon.e2e.crash-in-flight=512 -Dcarillon.e2e.crash-poisons=0,1,2}.
 */
class CrashRecoveryTest {

  private static final int IN_FLIGHT = Integer.getInteger("carillon.e2e.crash-in-flight", 128);
  private static final String POISONS = System.getProperty("carillon.e2e.crash-poisons", "0");
  private static final int CRASHES = 3;
  private static final Duration TASK_DURATION =
      Duration.ofMillis(Integer.getInteger("carillon.e2e.crash-task-millis", 100));
  private static final Duration TIMEOUT = Duration.ofMinutes(5);

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);
  private final AtomicReference<ServerProcess> node = new AtomicReference<>();
  private final AtomicInteger kills = new AtomicInteger();
  private final CountDownLatch firstKill = new CountDownLatch(1);

  static List<Integer> poisons() {
    return List.of(POISONS.split(",", -1)).stream().map(Integer::valueOf).toList();
  }

  @ParameterizedTest(name = "{0} poison tasks")
  @MethodSource("poisons")
  void every_innocent_task_of_a_dead_node_completes_within_seconds(int poisons) {
    node.set(launch());
    ServerProcess first = node.get().awaitReady();

    try (Receiver receiver = Receiver.start()) {
      receiver.respondWith(this::respond);
      Set<String> poison = new HashSet<>();
      try (Carillon carillon = first.connect()) {
        carillon.put("/v1/types/poison", type(receiver.url("/poison")));
        carillon.put("/v1/types/innocent", type(receiver.url("/innocent")));
        IntStream.range(0, poisons)
            .forEach(_ -> poison.add(create(carillon, "poison", 1).getFirst()));
        create(carillon, "innocent", IN_FLIGHT - poisons);
      }
      await().atMost(TIMEOUT).until(() -> receiver.count() >= IN_FLIGHT);
      double killedAt = seconds("SELECT extract(epoch FROM clock_timestamp())");
      kill(first);
      firstKill.countDown();
      await()
          .atMost(TIMEOUT)
          .pollInterval(Duration.ofMillis(250))
          .until(() -> database.unfinished() == 0);

      double firstAt =
          seconds(
              "SELECT extract(epoch FROM min(started_at)) FROM carillon.task WHERE attempt > 1");
      double lastAt =
          seconds(
              "SELECT extract(epoch FROM max(finished_at)) FROM carillon.task"
                  + " WHERE state = 'COMPLETED'");
      System.out.printf(
          "crash with %d tasks in flight, %d poison, %d kills: the last innocent task ended %.1f s"
              + " after the first kill, %.1f s after the first start of a suspect%n",
          IN_FLIGHT, poisons, kills.get(), lastAt - killedAt, lastAt - firstAt);

      assertThat(
              database.column(
                  "SELECT state || ' ' || coalesce(failure, '') || ' ' || count(*)"
                      + " FROM carillon.task GROUP BY state, failure ORDER BY state"))
          .isEqualTo(expected(poisons));
      assertThat(database.column("SELECT task FROM carillon.dead_letter"))
          .containsExactlyInAnyOrderElementsOf(poison);
      database.assertConsistent();
      assertThat(kills).hasValueLessThanOrEqualTo(1 + poisons * (CRASHES - 1));
      if (poisons == 0) {
        // Suspects are started in groups of the node's seats, not at a fixed rate such as 16/s.
        assertThat(lastAt - firstAt).isLessThan(6);
      }
    }
  }

  private static List<String> expected(int poisons) {
    List<String> states = new ArrayList<>(List.of("COMPLETED  " + (IN_FLIGHT - poisons)));
    if (poisons > 0) {
      states.add("DEAD POISON " + poisons);
    }
    return states;
  }

  private double seconds(String query) {
    return Double.parseDouble(database.column(query).getFirst());
  }

  private ServerProcess launch() {
    return servers.launchOn(
        address, "--node-lease", "2s", "--concurrency", Integer.toString(IN_FLIGHT));
  }

  private static List<String> create(Carillon carillon, String type, int tasks) {
    List<String> ids = new ArrayList<>();
    carillon
        .post("/v1/tasks/batch", Map.of("tasks", Collections.nCopies(tasks, Map.of("type", type))))
        .path("ids")
        .forEach(id -> ids.add(id.asString()));
    return ids;
  }

  private static Map<String, Object> type(String url) {
    return Map.of(
        "target",
        Map.of("http", Map.of("url", url)),
        "retry",
        Map.of("maxAttempts", 50, "backoff", "fixed", "base", "100ms", "jitter", "none"));
  }

  private int respond(Receiver.Delivery delivery) throws InterruptedException {
    ServerProcess sender = Objects.requireNonNull(node.get());
    firstKill.await();
    if (delivery.path().equals("/poison") && delivery.attempt() > 1) {
      kill(sender);
    }
    boolean _ = new CountDownLatch(1).await(TASK_DURATION.toMillis(), TimeUnit.MILLISECONDS);
    return 200;
  }

  /** Kills a node and starts the next; two poison tasks of one group kill only one node. */
  private synchronized void kill(ServerProcess sender) {
    if (node.get() == sender) {
      sender.kill9();
      kills.incrementAndGet();
      node.set(launch());
    }
  }
}
