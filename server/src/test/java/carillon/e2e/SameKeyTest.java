package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Concurrent requests to two nodes for the same task create it once. */
class SameKeyTest {

  private static final int CALLERS = 200;

  @RegisterExtension static final Servers servers = new Servers();

  private static Database database;
  private static ServerProcess one;
  private static ServerProcess other;

  @BeforeAll
  static void start() {
    Db.Address address = Postgres.freshDatabase();
    database = new Database(address);
    one = servers.launchOn(address, "--node-id", "a");
    other = servers.startOn(address, "--node-id", "b");
    one.awaitReady();
  }

  @Test
  void concurrent_creates_of_a_unique_task_return_the_same_task() throws Exception {
    Map<String, Object> task =
        Map.of(
            "type",
            "unique",
            "key",
            "order-1",
            "unique",
            Map.of("for", "1h"),
            "target",
            Map.of("discard", Map.of()));

    List<String> ids = sendAll(carillon -> carillon.post("/v1/tasks", task));

    assertThat(new HashSet<>(ids)).hasSize(1);
    assertThat(tasks("unique")).containsExactly(ids.getFirst());
  }

  @Test
  void concurrent_requests_with_one_idempotency_key_create_one_task() throws Exception {
    Map<String, Object> task =
        Map.of("type", "once", "target", Map.of("discard", Map.of()), "payload", Map.of("n", 1));

    List<String> ids = sendAll(carillon -> carillon.post("/v1/tasks", task, "the-key"));

    assertThat(new HashSet<>(ids)).hasSize(1);
    assertThat(tasks("once")).containsExactly(ids.getFirst());
  }

  private static List<String> tasks(String type) {
    return database.column(
        "SELECT t.id FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane WHERE l.type = '"
            + type
            + "'");
  }

  /** Sends all requests at once, half of them to each node; returns the ids of the responses. */
  private static List<String> sendAll(Function<Carillon, JsonNode> request) throws Exception {
    CountDownLatch start = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        Carillon a = one.connect();
        Carillon b = other.connect()) {
      List<Future<String>> requests = new ArrayList<>();
      for (int i = 0; i < CALLERS; i++) {
        Carillon node = i % 2 == 0 ? a : b;
        requests.add(
            threads.submit(
                () -> {
                  start.await();
                  return await()
                      .atMost(Duration.ofSeconds(60))
                      .pollInterval(Duration.ofMillis(50))
                      .until(() -> send(node, request), id -> !id.isEmpty());
                }));
      }
      start.countDown();
      List<String> ids = new ArrayList<>();
      for (Future<String> each : requests) {
        ids.add(each.get());
      }
      return ids;
    }
  }

  /** Returns the id, or an empty string if the request must be repeated (409 or 503). */
  private static String send(Carillon node, Function<Carillon, JsonNode> request) {
    try {
      return request.apply(node).get("id").asString();
    } catch (CarillonException e) {
      if (e.status() == 409 || e.status() == 503) {
        return "";
      }
      throw e;
    }
  }
}
