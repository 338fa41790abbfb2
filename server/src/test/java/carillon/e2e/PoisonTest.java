package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** A task that kills every node that runs it, among harmless tasks. */
class PoisonTest {

  private static final int CRASHES = 3;
  private static final int BYSTANDERS = 20;
  private static final Duration TIMEOUT = Duration.ofSeconds(90);

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);
  private final Map<String, ServerProcess> nodes = new ConcurrentHashMap<>();
  private final Map<ServerProcess, Carillon> connections = new ConcurrentHashMap<>();
  private final AtomicInteger kills = new AtomicInteger();
  private final CountDownLatch firstKill = new CountDownLatch(1);
  private final AtomicBoolean poisonIsDead = new AtomicBoolean();
  private final AtomicInteger steady = new AtomicInteger();

  @Test
  void a_poison_task_ends_dead_after_three_crashes_and_all_other_tasks_complete() throws Exception {
    nodes.put("a", launch("a"));
    nodes.put("b", launch("b"));
    nodes.values().forEach(ServerProcess::awaitReady);

    try (Receiver receiver = Receiver.start()) {
      receiver.respondWith(this::respond);
      String poison;
      try (Carillon carillon = nodes.get("a").connect()) {
        for (String type : List.of("poison", "held", "steady")) {
          carillon.put("/v1/types/" + type, type(receiver.url("/" + type)));
        }
        // Their deliveries block until the first kill, so that they are in flight when a node dies.
        carillon.post(
            "/v1/tasks/batch",
            Map.of("tasks", Collections.nCopies(BYSTANDERS, Map.of("type", "held"))));
        await().atMost(TIMEOUT).until(() -> receiver.count() >= BYSTANDERS);
        poison = carillon.post("/v1/tasks", Map.of("type", "poison")).path("id").asString();
      }
      Thread producer = Thread.ofPlatform().start(this::produce);
      await().atMost(TIMEOUT).until(() -> state(poison).equals("DEAD"));
      poisonIsDead.set(true);
      producer.join();
      connections.values().forEach(Carillon::close);
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);

      assertThat(kills).hasValue(CRASHES);
      assertThat(receiver.byTask().get(poison)).hasSize(CRASHES);
      assertPoison(poison);
      assertThat(database.count("SELECT count(*) FROM carillon.task WHERE state = 'COMPLETED'"))
          .as("completed tasks of the types held and steady")
          .isEqualTo(BYSTANDERS + steady.get());
      assertThat(steady).hasValueGreaterThan(50);
      assertThat(database.count("SELECT count(*) FROM carillon.dead_letter")).isEqualTo(1);
      assertThat(
              database.count(
                  "SELECT max(coalesce(crashes, 0)) FROM carillon.task WHERE id <> '"
                      + poison
                      + "'"))
          .as("maximum crash count of the other tasks")
          .isLessThan(CRASHES);
      database.assertConsistent();
    }
  }

  private ServerProcess launch(String name) {
    return servers.launchOn(address, "--node-id", name, "--node-lease", "2s");
  }

  private static Map<String, Object> type(String url) {
    return Map.of(
        "target",
        Map.of("http", Map.of("url", url)),
        "retry",
        Map.of("maxAttempts", 50, "backoff", "fixed", "base", "100ms", "jitter", "none"));
  }

  private int respond(Receiver.Delivery delivery) throws InterruptedException {
    switch (delivery.path()) {
      case "/held" -> firstKill.await();
      case "/poison" -> killSender(delivery.task());
      default -> {}
    }
    return 200;
  }

  /** Kills the node that delivers the task, according to the table. */
  private void killSender(String task) {
    String node =
        database
            .column("SELECT leased_by FROM carillon.every_task WHERE id = '" + task + "'")
            .getFirst()
            .substring(0, 1);
    Objects.requireNonNull(nodes.get(node)).kill9();
    kills.incrementAndGet();
    firstKill.countDown();
    nodes.put(node, launch(node));
  }

  private String state(String task) {
    return database.column("SELECT state FROM carillon.task WHERE id = '" + task + "'").getFirst();
  }

  /** Creates one task after the other through any node that responds, until the poison is dead. */
  private void produce() {
    int n = 0;
    while (!poisonIsDead.get() || steady.get() <= 50) {
      Map<String, Object> task = Map.of("type", "steady", "payload", n);
      String key = "steady-" + n++;
      await()
          .atMost(TIMEOUT)
          .pollInterval(Duration.ofMillis(20))
          .until(() -> isAccepted(task, key));
      steady.incrementAndGet();
    }
  }

  private boolean isAccepted(Map<String, Object> task, String key) {
    for (ServerProcess node : nodes.values()) {
      if (node.isReady()) {
        try {
          connections.computeIfAbsent(node, ServerProcess::connect).post("/v1/tasks", task, key);
          return true;
        } catch (CarillonException e) {
          if (e.status() != CarillonException.NO_ANSWER && e.status() != 409 && e.status() != 503) {
            throw e;
          }
        }
      }
    }
    return false;
  }

  private void assertPoison(String poison) {
    ServerProcess node = nodes.values().iterator().next().awaitReady();
    try (Carillon carillon = node.connect()) {
      JsonNode task = carillon.get("/v1/tasks/" + poison);
      List<String> failures = new ArrayList<>();
      task.path("attempts")
          .forEach(attempt -> failures.add(attempt.path("error").path("kind").asString()));
      assertThat(failures).containsExactly("poison", "crashed", "crashed");
      assertThat(task.path("error").path("cause").asString()).isEqualTo("crashed");
      assertThat(task.path("crashes").asInt()).isEqualTo(CRASHES);
      assertThat(task.path("attempt").asInt()).isEqualTo(CRASHES);
    }
    assertThat(nodes.values().stream().mapToDouble(PoisonTest::poisonCounted).sum()).isEqualTo(1);
  }

  private static double poisonCounted(ServerProcess node) {
    String metric = "carillon_attempts_failed_total{cause=\"crashed\",failure=\"poison\"} ";
    try (Carillon carillon = node.awaitReady().connect()) {
      return carillon
          .text("/metrics")
          .lines()
          .filter(line -> line.startsWith(metric))
          .mapToDouble(line -> Double.parseDouble(line.substring(metric.length())))
          .sum();
    }
  }
}
