package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** The life of a schedule on a real server. */
class ScheduleTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void a_schedule_can_be_paused_triggered_resumed_changed_and_deleted() {
    try (Carillon api = servers.startOn(Postgres.freshDatabase()).connect()) {
      Map<String, Object> everySecond =
          Map.of(
              "type", "tick",
              "every", "1s",
              "overlap", "allow",
              "target", Map.of("discard", Map.of()));
      api.put("/v1/schedules/tick", everySecond);
      await().atMost(TIMEOUT).until(() -> completed(api) >= 3);

      JsonNode paused = api.post("/v1/schedules/tick/pause", Map.of("reason", "maintenance"));
      assertThat(paused.path("status").asString()).isEqualTo("PAUSED");
      await().atMost(TIMEOUT).until(() -> skipped(api, "paused") >= 2);

      String triggered = api.post("/v1/schedules/tick/trigger", null).path("id").asString();
      await()
          .atMost(TIMEOUT)
          .until(
              () ->
                  api.get("/v1/tasks/" + triggered).path("status").asString().equals("COMPLETED"));

      int before = completed(api);
      api.post("/v1/schedules/tick/resume", null);
      await().atMost(TIMEOUT).until(() -> completed(api) >= before + 2);

      int version =
          api.put(
                  "/v1/schedules/tick",
                  Map.of(
                      "type", "tock",
                      "every", "1s",
                      "overlap", "allow",
                      "target", Map.of("discard", Map.of())))
              .path("version")
              .asInt();
      assertThat(version).isEqualTo(4);
      await()
          .atMost(TIMEOUT)
          .until(() -> !api.get("/v1/tasks?type=tock&status=COMPLETED").path("items").isEmpty());
      assertThat(scheduledTimes(api)).as("times of the fires").doesNotHaveDuplicates();
      String changedAt =
          api.put(
                  "/v1/schedules/tick",
                  Map.of(
                      "type", "tock",
                      "cron", "*/5 * * * * *",
                      "overlap", "allow",
                      "target", Map.of("discard", Map.of())))
              .path("updatedAt")
              .asString();
      await()
          .atMost(TIMEOUT)
          .until(
              () ->
                  api.get("/v1/schedules/tick/fires?limit=1000&from=" + changedAt)
                      .path("items")
                      .valueStream()
                      .anyMatch(fire -> fire.path("status").asString("").equals("COMPLETED")));
      assertThat(scheduledTimes(api).stream().filter(at -> at.compareTo(changedAt) > 0))
          .as("fires after the change")
          .isNotEmpty()
          .allMatch(at -> at.matches(".*[05]\\.000Z"))
          .doesNotHaveDuplicates();
      JsonNode shown = api.get("/v1/schedules/tick");
      assertThat(shown.path("lastRun").path("outcome").asString()).isEqualTo("task");
      assertThat(shown.path("nextRuns")).hasSize(5);

      api.delete("/v1/schedules/tick");
      await()
          .atMost(TIMEOUT)
          .until(
              () ->
                  api.get("/v1/tasks?status=PENDING").path("items").isEmpty()
                      && api.get("/v1/tasks?status=RUNNING").path("items").isEmpty());
    }
  }

  @Test
  void a_cron_expression_with_seconds_fires_in_its_zone() {
    try (Carillon api = servers.startOn(Postgres.freshDatabase()).connect()) {
      api.put(
          "/v1/schedules/tick",
          Map.of(
              "type", "tick",
              "cron", "* * * * * *",
              "timezone", "Asia/Kolkata",
              "overlap", "allow",
              "target", Map.of("discard", Map.of())));

      await().atMost(TIMEOUT).until(() -> completed(api) >= 3);

      assertThat(scheduledTimes(api)).doesNotHaveDuplicates().allMatch(at -> at.endsWith(".000Z"));
      assertThat(fires(api))
          .extracting(fire -> fire.path("local").asString())
          .allMatch(local -> local.endsWith("+05:30[Asia/Kolkata]"));
    }
  }

  private static int completed(Carillon api) {
    return (int)
        fires(api).stream()
            .filter(fire -> fire.path("status").asString().equals("COMPLETED"))
            .filter(fire -> fire.path("kind").asString().equals("scheduled"))
            .count();
  }

  private static int skipped(Carillon api, String reason) {
    return (int)
        fires(api).stream().filter(fire -> fire.path("reason").asString("").equals(reason)).count();
  }

  private static List<String> scheduledTimes(Carillon api) {
    return fires(api).stream()
        .filter(fire -> fire.path("kind").asString().equals("scheduled"))
        .map(fire -> fire.path("at").asString())
        .toList();
  }

  private static List<JsonNode> fires(Carillon api) {
    return api.get("/v1/schedules/tick/fires?limit=1000").path("items").valueStream().toList();
  }
}
