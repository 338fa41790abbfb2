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
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Kills the program after tasks have ended and before their callbacks are delivered. */
class CallbackCrashTest {

  /** Fewer than the seats of the node: at the kill, every callback is in flight. */
  private static final int TASKS = 300;

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private static final String ENDED =
      """
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = 'callback-crash'
        AND t.state IN ('COMPLETED', 'DEAD')
      """;

  private static final String CALLBACKS =
      """
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = 'carillon.callback'
      """;

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void every_ended_task_causes_one_callback_despite_a_kill() {
    Db.Address address = Postgres.freshDatabase();
    Database database = new Database(address);
    try (Receiver receiver = Receiver.start()) {
      CountDownLatch killed = new CountDownLatch(1);
      receiver.respondWith(
          delivery -> {
            if (delivery.path().startsWith("/callback")) {
              killed.await();
            }
            return delivery.path().equals("/broken") ? 404 : 200;
          });
      ServerProcess server = servers.startOn(address, "--node-lease", "2s");
      try (Carillon carillon = server.connect()) {
        carillon.post(
            "/v1/tasks/batch",
            Map.of("tasks", IntStream.range(0, TASKS).mapToObj(n -> task(receiver, n)).toList()));
        // Kill the program while only some tasks have ended, so that it cuts off a write.
        await()
            .atMost(TIMEOUT)
            .pollInterval(Duration.ofMillis(2))
            .until(() -> database.count("SELECT count(*) " + ENDED) >= TASKS / 3);
      }
      server.kill9();

      List<String> ended = database.column("SELECT t.id " + ENDED);
      assertThat(database.column("SELECT t.key " + CALLBACKS))
          .as("callbacks for the ended tasks only")
          .containsExactlyInAnyOrderElementsOf(ended);
      assertThat(database.count("SELECT count(*) " + CALLBACKS + " AND t.state = 'COMPLETED'"))
          .as("callbacks delivered before the kill")
          .isZero();
      database.assertConsistent();

      killed.countDown();
      servers.startOn(address, "--node-lease", "2s");
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);

      List<String> all = database.column("SELECT t.id " + ENDED);
      assertThat(all).hasSize(TASKS);
      assertThat(database.column("SELECT t.key " + CALLBACKS + " AND t.state = 'COMPLETED'"))
          .as("one callback for each outcome")
          .containsExactlyInAnyOrderElementsOf(all);
      assertCallbacksMatchOutcomes(database, receiver);
      database.assertConsistent();
    }
  }

  private static Map<String, Object> task(Receiver receiver, int n) {
    return Map.of(
        "type",
        "callback-crash",
        "target",
        http(receiver.url(n % 2 == 0 ? "/fine" : "/broken")),
        "onComplete",
        http(receiver.url("/callback/completed")),
        "onDead",
        http(receiver.url("/callback/dead")));
  }

  private static Map<String, Object> http(String url) {
    return Map.of("http", Map.of("url", url));
  }

  private static void assertCallbacksMatchOutcomes(Database database, Receiver receiver) {
    Map<String, List<Receiver.Delivery>> deliveries = receiver.byTask();
    for (String callback :
        database.column("SELECT t.id || ' ' || t.key || ' ' || t.payload " + CALLBACKS)) {
      String[] parts = callback.split(" ", 3);
      String state =
          database
              .column("SELECT state FROM carillon.task WHERE id = '" + parts[1] + "'")
              .getFirst();
      String path = state.equals("DEAD") ? "/callback/dead" : "/callback/completed";
      assertThat(deliveries.get(parts[0]))
          .as("deliveries of the callback for " + parts[1])
          .isNotEmpty()
          .allMatch(delivery -> delivery.path().equals(path))
          .allMatch(delivery -> delivery.body().equals(parts[2]));
    }
  }
}
