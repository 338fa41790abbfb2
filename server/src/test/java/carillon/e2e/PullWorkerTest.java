package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.client.Carillon;
import carillon.testkit.Postgres;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** A worker that claims its tasks through the API. */
class PullWorkerTest {

  @RegisterExtension static final Servers servers = new Servers();

  private static Carillon api;

  @BeforeAll
  static void start() {
    api = servers.startOn(Postgres.freshDatabase()).connect();
  }

  @AfterAll
  static void close() {
    api.close();
  }

  @Test
  void a_new_task_wakes_a_waiting_worker() {
    Duration fastest = Duration.ofDays(1);
    for (int i = 0; i < 8; i++) {
      var waiting = CompletableFuture.supplyAsync(() -> claim("waiter", "30s"));
      long created = System.nanoTime();
      String task = create();
      JsonNode claimed = waiting.join();
      Duration took = Duration.ofNanos(System.nanoTime() - created);
      assertThat(claimed.path("id").asString()).isEqualTo(task);
      fastest = took.compareTo(fastest) < 0 ? took : fastest;
    }
    System.out.printf("pull: claimed %.1f ms after creation%n", fastest.toNanos() / 1e6);
    assertThat(fastest).as("fastest claim").isLessThan(Duration.ofMillis(200));
  }

  @Test
  void a_task_with_an_expired_lease_goes_to_another_worker_and_the_first_cannot_report() {
    String task = create();
    JsonNode first = claim("first", "1s");
    JsonNode second = claim("second", "30s");

    assertThat(second.path("id").asString()).isEqualTo(task);
    assertThat(second.path("fence").asInt()).isGreaterThan(first.path("fence").asInt());
    assertThat(report(first)).isEqualTo("stale");
    assertThat(renew(first)).isEqualTo("stale");
    assertThat(api.get("/v1/tasks/" + task).path("status").asString()).isEqualTo("RUNNING");
    assertThat(renew(second)).isEqualTo("renewed");
    assertThat(report(second)).isEqualTo("accepted");
    assertThat(api.get("/v1/tasks/" + task).path("leasedBy").asString()).isEqualTo("second");
  }

  @Test
  void a_renewal_reports_a_requested_cancel() {
    String task = create();
    JsonNode claimed = claim("worker", "30s");

    JsonNode cancelled = api.post("/v1/tasks/" + task + "/cancel", null);

    assertThat(cancelled.path("cancelRequested").asBoolean()).isTrue();
    assertThat(renew(claimed)).isEqualTo("cancelled");
  }

  private static String create() {
    return api.post("/v1/tasks", Map.of("type", "pulled", "target", Map.of("pull", Map.of())))
        .path("id")
        .asString();
  }

  private static JsonNode claim(String worker, String lease) {
    return api.post(
            "/v1/work/claim",
            Map.of("types", List.of("pulled"), "wait", "20s", "worker", worker, "lease", lease))
        .path("tasks")
        .path(0);
  }

  private static String report(JsonNode claimed) {
    return api.post(
            "/v1/work/report",
            Map.of(
                "results",
                List.of(
                    Map.of(
                        "id",
                        claimed.path("id").asString(),
                        "token",
                        claimed.path("token").asString(),
                        "outcome",
                        "completed"))))
        .path("results")
        .path(0)
        .path("result")
        .asString();
  }

  private static String renew(JsonNode claimed) {
    return api.post(
            "/v1/work/renew",
            Map.of(
                "leases",
                List.of(
                    Map.of(
                        "id",
                        claimed.path("id").asString(),
                        "token",
                        claimed.path("token").asString())),
                "lease",
                "30s"))
        .path("leases")
        .path(0)
        .path("result")
        .asString();
  }
}
