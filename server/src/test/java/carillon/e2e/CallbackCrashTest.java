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

/** Kills the program after tasks have ended and before anybody has been told. */
class CallbackCrashTest {

  /** Fewer than there are seats: every callback is on its way, and held, at the kill. */
  private static final int TASKS = 300;

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final String ENDED =
      """
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = 'told'
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
  void each_outcome_is_told_once_though_the_program_is_killed_in_between() {
    Db.Address address = Postgres.freshDatabase();
    Database database = new Database(address);
    try (Receiver receiver = Receiver.start()) {
      CountDownLatch dead = new CountDownLatch(1);
      receiver.answering(
          delivery -> {
            if (delivery.path().startsWith("/told")) {
              dead.await();
            }
            return delivery.path().equals("/broken") ? 404 : 200;
          });
      ServerProcess server = servers.startOn(address, "--node-lease", "2s");
      try (Carillon carillon = server.connect()) {
        carillon.post(
            "/v1/tasks/batch",
            Map.of("tasks", IntStream.range(0, TASKS).mapToObj(n -> task(receiver, n)).toList()));
        // While some have ended and others have not: whatever is being written then is cut off.
        await()
            .atMost(PATIENCE)
            .pollInterval(Duration.ofMillis(2))
            .until(() -> database.count("SELECT count(*) " + ENDED) >= TASKS / 3);
      }
      server.kill9();

      List<String> ended = database.column("SELECT t.id " + ENDED);
      assertThat(database.column("SELECT t.key " + CALLBACKS))
          .as("callbacks for what has ended, and for nothing else")
          .containsExactlyInAnyOrderElementsOf(ended);
      assertThat(database.count("SELECT count(*) " + CALLBACKS + " AND t.state = 'COMPLETED'"))
          .as("delivered before the kill")
          .isZero();

      dead.countDown();
      servers.startOn(address, "--node-lease", "2s");
      await().atMost(PATIENCE).until(() -> database.unfinished() == 0);

      List<String> all = database.column("SELECT t.id " + ENDED);
      assertThat(all).hasSize(TASKS);
      assertThat(database.column("SELECT t.key " + CALLBACKS + " AND t.state = 'COMPLETED'"))
          .as("one callback for each outcome")
          .containsExactlyInAnyOrderElementsOf(all);
      assertToldAsItWas(database, receiver);
    }
  }

  private static Map<String, Object> task(Receiver receiver, int n) {
    return Map.of(
        "type",
        "told",
        "target",
        http(receiver.url(n % 2 == 0 ? "/fine" : "/broken")),
        "onComplete",
        http(receiver.url("/told/completed")),
        "onDead",
        http(receiver.url("/told/dead")));
  }

  private static Map<String, Object> http(String url) {
    return Map.of("http", Map.of("url", url));
  }

  private static void assertToldAsItWas(Database database, Receiver receiver) {
    Map<String, List<Receiver.Delivery>> deliveries = receiver.byTask();
    for (String callback :
        database.column("SELECT t.id || ' ' || t.key || ' ' || t.payload " + CALLBACKS)) {
      String[] parts = callback.split(" ", 3);
      String state =
          database
              .column("SELECT state FROM carillon.task WHERE id = '" + parts[1] + "'")
              .getFirst();
      String path = state.equals("DEAD") ? "/told/dead" : "/told/completed";
      assertThat(deliveries.get(parts[0]))
          .as("deliveries of the callback for " + parts[1])
          .isNotEmpty()
          .allMatch(delivery -> delivery.path().equals(path))
          .allMatch(delivery -> delivery.body().equals(parts[2]));
    }
  }
}
