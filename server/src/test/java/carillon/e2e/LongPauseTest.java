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
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Pauses a node for longer than its lease, like a suspended machine. */
class LongPauseTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address database = Postgres.freshDatabase();

  @Test
  void a_node_paused_past_its_lease_writes_nothing_and_rejoins_under_a_new_id() {
    ServerProcess a = servers.startOn(database, "--node-id", "a", "--node-lease", "2s");
    try (Receiver receiver = Receiver.start();
        Carillon api = a.connect()) {
      CountDownLatch held = receiver.holdResponses();
      String task = create(api, receiver);
      await().atMost(TIMEOUT).until(() -> receiver.count() == 1);
      String pausedNode = task(api, task).path("leasedBy").asString();
      ServerProcess b = servers.startOn(database, "--node-id", "b", "--node-lease", "2s");

      a.suspend();
      receiver.respondWith(_ -> 200);
      JsonNode completed;
      try (Carillon other = b.connect()) {
        await().atMost(TIMEOUT).until(() -> isCompleted(other, task));
        completed = task(other, task);
      }
      held.countDown();
      a.resume();
      await().atMost(TIMEOUT).until(() -> a.metric("carillon_completer_fenced_total") >= 1);

      assertThat(receiver.byTask().get(task))
          .extracting(Receiver.Delivery::fence)
          .containsExactly(1, 2);
      assertThat(completed.path("leasedBy").asString()).startsWith("b-");
      assertThat(completed.path("fence").asInt()).isEqualTo(2);
      assertThat(task(api, task)).as("after the paused node resumed").isEqualTo(completed);
      await()
          .atMost(TIMEOUT) // the heartbeat may resume after the completer
          .until(() -> a.errors().contains("lease lapsed node=" + pausedNode));

      assertThat(b.stop()).isZero();
      String next = create(api, receiver);
      await().atMost(TIMEOUT).until(() -> isCompleted(api, next));
      assertThat(task(api, next).path("leasedBy").asString())
          .startsWith("a-")
          .isNotEqualTo(pausedNode);
    }
  }

  private static String create(Carillon api, Receiver receiver) {
    return api.post(
            "/v1/tasks",
            Map.of(
                "type",
                "pause",
                "target",
                Map.of("http", Map.of("url", receiver.url("/"))),
                "retry",
                Map.of("base", "100ms", "backoff", "fixed")))
        .path("id")
        .asString();
  }

  private static JsonNode task(Carillon api, String id) {
    return api.get("/v1/tasks/" + id);
  }

  private static boolean isCompleted(Carillon api, String id) {
    return task(api, id).path("status").asString().equals("COMPLETED");
  }
}
