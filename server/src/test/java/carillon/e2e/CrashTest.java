package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Kills the program while it accepts and delivers tasks; no task may be lost. */
class CrashTest {

  private static final int TASKS = Integer.getInteger("carillon.e2e.crash-tasks", 10_000);
  private static final int KILLS = 3;
  private static final int BATCH = Math.max(1, TASKS / 40);

  /** How far the producer may run ahead of the deliveries, so that both last until the end. */
  private static final int MAX_LEAD = TASKS / 4;

  /** Minimum number of deliveries without a response at each kill. */
  private static final int IN_FLIGHT = 50;

  private static final Duration TIMEOUT = Duration.ofSeconds(60).plusMillis(10L * TASKS);

  @RegisterExtension final Servers servers = new Servers();

  private final AtomicReference<Carillon> connection = new AtomicReference<>();
  private final Queue<String> accepted = new ConcurrentLinkedQueue<>();
  private final Set<String> inDoubt = ConcurrentHashMap.newKeySet();

  @Test
  void every_accepted_task_completes_once_despite_repeated_kills() throws InterruptedException {
    Path dataDir = servers.newDataDir();
    try (Receiver receiver = Receiver.start()) {
      ServerProcess server = start(dataDir);
      connection
          .get()
          .put(
              "/v1/types/crash",
              Map.of("target", Map.of("http", Map.of("url", receiver.url("/")))));
      Thread producer = Thread.ofPlatform().start(() -> produce(receiver));
      for (int kill = 1; kill <= KILLS; kill++) {
        int delivered = TASKS * (10 + 15 * kill) / 100;
        CountDownLatch killed = new CountDownLatch(1);
        receiver.respondWith(_ -> respond(receiver.count() < delivered, killed));
        await()
            .atMost(TIMEOUT)
            .pollInterval(Duration.ofMillis(5))
            .until(() -> receiver.count() >= delivered + IN_FLIGHT);
        server.kill9();
        assertThat(receiver.byTask().size()).as("delivered when killed").isLessThan(TASKS * 6 / 10);
        killed.countDown();
        server = start(dataDir);
      }
      producer.join();
      Database database = Database.embeddedIn(server);
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);

      System.out.printf(
          "crash: %d tasks, %d kills, %d batches in doubt, %d deliveries%n",
          TASKS, KILLS, inDoubt.size(), receiver.count());
      assertThat(accepted).hasSize(TASKS);
      assertThat(receiver.count() - TASKS).as("repeats").isGreaterThanOrEqualTo(KILLS * IN_FLIGHT);
      assertEachCompletedOnce(database);
      assertDeliveredWithGrowingFences(receiver);
    }
  }

  /** Responds at once, or only after the kill: such deliveries are in flight when it happens. */
  private static int respond(boolean now, CountDownLatch killed) throws InterruptedException {
    if (!now) {
      killed.await();
    }
    return 200;
  }

  /**
   * The poison limit exceeds the kills: a task in flight at every kill would end DEAD otherwise.
   */
  private ServerProcess start(Path dataDir) {
    ServerProcess server =
        servers.start(
            dataDir, "--node-lease", "2s", "--poison-crashes", Integer.toString(KILLS + 1));
    connection.set(server.connect());
    return server;
  }

  /** A batch without a response is repeated with its idempotency key, so it counts once. */
  private void produce(Receiver receiver) {
    for (int from = 0; from < TASKS; from += BATCH) {
      int start = from;
      await()
          .atMost(TIMEOUT)
          .pollInterval(Duration.ofMillis(5))
          .until(() -> start < receiver.count() + MAX_LEAD);
      List<Map<String, Object>> tasks =
          IntStream.range(from, Math.min(TASKS, from + BATCH))
              .mapToObj(n -> Map.<String, Object>of("type", "crash", "payload", Map.of("n", n)))
              .toList();
      await()
          .atMost(TIMEOUT)
          .pollInterval(Duration.ofMillis(20))
          .until(() -> isAccepted(tasks, "batch-" + start));
    }
  }

  private boolean isAccepted(List<Map<String, Object>> tasks, String key) {
    try {
      connection
          .get()
          .post("/v1/tasks/batch", Map.of("tasks", tasks), key)
          .path("ids")
          .forEach(id -> accepted.add(id.asString()));
      return true;
    } catch (CarillonException e) {
      if (e.status() != CarillonException.NO_ANSWER && e.status() != 409 && e.status() != 503) {
        throw e;
      }
      inDoubt.add(key);
      return false;
    }
  }

  private void assertEachCompletedOnce(Database database) {
    assertThat(
            database.column(
                "SELECT id || ' ' || state || ' attempt ' || attempt || ' crashes ' || crashes || '"
                    + " ' || coalesce(error, '') FROM carillon.task WHERE state <> 'COMPLETED'"))
        .as("not completed")
        .isEmpty();
    List<String> tasks = database.column("SELECT id FROM carillon.task WHERE state = 'COMPLETED'");
    assertThat(tasks).as("completed").hasSize(TASKS);
    assertThat(new HashSet<>(tasks)).as("completed").isEqualTo(new HashSet<>(accepted));
    assertThat(
            database.column(
                "SELECT task FROM carillon.every_transition WHERE to_state = 'COMPLETED'"))
        .as("transitions to COMPLETED")
        .hasSize(TASKS)
        .doesNotHaveDuplicates();
    assertThat(database.count("SELECT count(*) FROM carillon.claim"))
        .as("remaining claims")
        .isZero();
    database.assertConsistent();
  }

  private void assertDeliveredWithGrowingFences(Receiver receiver) {
    Set<String> submitted = new HashSet<>(accepted);
    List<String> violations = new ArrayList<>();
    Set<String> bodies = new HashSet<>();
    receiver
        .byTask()
        .forEach(
            (task, deliveries) -> {
              String body = deliveries.getFirst().body();
              if (!submitted.contains(task) || !bodies.add(body)) {
                violations.add("not submitted, or submitted twice: " + task + " " + body);
              }
              for (int i = 1; i < deliveries.size(); i++) {
                boolean grows = deliveries.get(i).fence() > deliveries.get(i - 1).fence();
                if (!grows || !deliveries.get(i).body().equals(body)) {
                  violations.add("not a later attempt of the same task: " + deliveries);
                }
              }
            });
    assertThat(violations).isEmpty();
    assertThat(bodies).as("bodies, each submitted once").hasSize(TASKS);
  }
}
