package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Causes groups of dead letters and receives the alerts. */
class AlertTest {

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void each_growing_group_of_dead_letters_causes_one_alert_to_the_target_of_its_rule() {
    Db.Address address = Postgres.freshDatabase();
    Database database = new Database(address);
    try (Receiver receiver = Receiver.start()) {
      receiver.respondWith(delivery -> delivery.path().startsWith("/hooks") ? 200 : 404);
      ServerProcess server =
          servers.startOn(
              address, "--alert-url", receiver.url("/hooks/operators"), "--alert-deaths", "5");
      try (Carillon carillon = server.connect()) {
        carillon.put(
            "/v1/tenants/acme",
            Map.of(
                "alert",
                Map.of(
                    "target",
                    Map.of("http", Map.of("url", receiver.url("/hooks/acme"))),
                    "deaths",
                    20,
                    "within",
                    "1m")));
        post(carillon, "fails", receiver.url("/a"), 100);
        post(carillon, "fails-a-little", receiver.url("/b"), 4);
        try (Carillon acme = carillon.withTenant("acme")) {
          post(acme, "fails", receiver.url("/c"), 100);
        }
        await()
            .atMost(Duration.ofSeconds(60))
            .until(() -> hooks(receiver).size() >= 2 && database.unfinished() == 0);
      }

      assertThat(hooks(receiver))
          .extracting(Receiver.Delivery::path)
          .containsExactlyInAnyOrder("/hooks/operators", "/hooks/acme");
      for (Receiver.Delivery hook : hooks(receiver)) {
        JsonNode alert = Json.MAPPER.readTree(hook.body());
        assertThat(alert.get("event").asString()).isEqualTo("dead-letters.growing");
        assertThat(alert.get("type").asString()).isEqualTo("fails");
        assertThat(alert.get("tenant").asString())
            .isEqualTo(hook.path().endsWith("acme") ? "acme" : "default");
      }
      assertThat(server.metric("carillon_alerts_total")).isEqualTo(2);
      assertThat(server.metric("carillon_dead_letter_groups")).isEqualTo(3);
    }
  }

  private static void post(Carillon carillon, String type, String url, int tasks) {
    Map<String, Object> task = Map.of("type", type, "target", Map.of("http", Map.of("url", url)));
    carillon.post("/v1/tasks/batch", Map.of("tasks", Collections.nCopies(tasks, task)));
  }

  private static List<Receiver.Delivery> hooks(Receiver receiver) {
    return receiver.deliveries().stream()
        .filter(delivery -> delivery.path().startsWith("/hooks"))
        .toList();
  }
}
