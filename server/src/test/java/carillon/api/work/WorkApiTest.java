package carillon.api.work;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Claims, reports and renewals of workers, and the resulting dead letters. */
class WorkApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static JsonNode claim(String type) {
    String body =
        "{\"types\":[\"%s\"],\"max\":10,\"wait\":\"5s\",\"worker\":\"w\"}".formatted(type);
    return api.post("/v1/work/claim").json(body).send().expect(200).json().get("tasks");
  }

  private static TestApi.Reply report(JsonNode task, String outcome, String more) {
    String body =
        "{\"results\":[{\"id\":\"%s\",\"token\":\"%s\",\"outcome\":\"%s\"%s}]}"
            .formatted(task.get("id").asString(), task.get("token").asString(), outcome, more);
    return api.post("/v1/work/report").json(body).send().expect(200);
  }

  private static String result(TestApi.Reply reply, String list) {
    return reply.json().get(list).get(0).get("result").asString();
  }

  private static TestApi.Reply show(JsonNode task) {
    return api.get("/v1/tasks/" + task.get("id").asString()).send().expect(200);
  }

  @Test
  void a_claimed_task_is_renewed_and_completed_once() {
    api.task("{\"type\":\"done\",\"payload\":{\"n\": 1.0}}");

    JsonNode task = claim("done").get(0);
    String renew =
        "{\"leases\":[{\"id\":\"%s\",\"token\":\"%s\"}],\"lease\":\"1m\"}"
            .formatted(task.get("id").asString(), task.get("token").asString());

    assertThat(task.get("payload").toString()).isEqualTo("{\"n\":1.0}");
    assertThat(task.get("attempt").asInt()).isEqualTo(1);
    assertThat(task.get("fence").asInt()).isPositive();
    assertThat(result(api.post("/v1/work/renew").json(renew).send().expect(200), "leases"))
        .isEqualTo("renewed");
    assertThat(result(report(task, "completed", ",\"output\":{\"ok\": true}"), "results"))
        .isEqualTo("accepted");
    assertThat(result(report(task, "failed", ""), "results")).isEqualTo("stale");
    assertThat(result(api.post("/v1/work/renew").json(renew).send().expect(200), "leases"))
        .isEqualTo("stale");
    assertThat(show(task).text("status")).isEqualTo("COMPLETED");
    assertThat(show(task).text("output")).isEqualTo("{\"ok\": true}");
    api.post("/v1/tasks/" + task.get("id").asString() + "/cancel")
        .send()
        .expect(ErrorCode.ALREADY_TERMINAL);
  }

  @Test
  void progress_is_shown_while_the_task_runs() {
    api.task("{\"type\":\"long\"}");
    JsonNode task = claim("long").get(0);
    String renew =
        "{\"leases\":[{\"id\":\"%s\",\"token\":\"%s\",\"progress\":%s}]}"
            .formatted(task.get("id").asString(), task.get("token").asString(), "\"half\"");

    api.post("/v1/work/renew").json(renew).send().expect(200);
    api.post("/v1/work/renew").json(renew.replace("\"half\"", "null")).send().expect(200);

    assertThat(show(task).text("status")).isEqualTo("RUNNING");
    assertThat(show(task).text("progress")).isEqualTo("half");
  }

  @Test
  void a_waiting_claim_returns_when_its_worker_hangs_up() {
    var claim =
        CompletableFuture.supplyAsync(
            () ->
                api.post("/v1/work/claim")
                    .json("{\"types\":[\"none\"],\"wait\":\"25s\",\"worker\":\"leaving\"}")
                    .send());
    long startedAt = System.nanoTime();

    await().until(() -> hangUp("stranger") == 0 && hangUp("leaving") == 1);

    assertThat(claim.join().expect(200).json().get("tasks")).isEmpty();
    assertThat(Duration.ofNanos(System.nanoTime() - startedAt)).isLessThan(Duration.ofSeconds(20));
  }

  private static int hangUp(String worker) {
    String body = "{\"worker\":\"%s\"}".formatted(worker);
    return api.post("/v1/work/hang-up").json(body).send().expect(200).json().get("ended").asInt();
  }

  @Test
  void a_running_task_is_cancelled_when_its_attempt_fails() {
    api.task("{\"type\":\"running\"}");
    JsonNode task = claim("running").get(0);

    TestApi.Reply cancel =
        api.post("/v1/tasks/" + task.get("id").asString() + "/cancel").send().expect(202);

    assertThat(cancel.json().get("cancelRequested").asBoolean()).isTrue();
    assertThat(cancel.text("status")).isEqualTo("RUNNING");
    assertThat(result(report(task, "failed", ",\"error\":\"stopped\""), "results"))
        .isEqualTo("accepted");
    assertThat(show(task).text("status")).isEqualTo("CANCELLED");
  }

  @Test
  void a_dead_task_is_listed_redriven_and_purged() {
    String id = api.task("{\"type\":\"dies\",\"retry\":{\"maxAttempts\":1}}");
    report(claim("dies").get(0), "failed", ",\"error\":\"boom\",\"output\":\"No tax rate\"");

    for (String list : List.of("dead-letters", "tasks")) {
      assertThat(
              api.get("/v1/" + list + "?type=dies&error=tax")
                  .send()
                  .expect(200)
                  .json()
                  .get("items"))
          .as("found by the response stored with the error, in %s", list)
          .hasSize(1);
    }
    JsonNode letters =
        api.get("/v1/dead-letters?type=dies&error=boom").send().expect(200).json().get("items");
    assertThat(letters).hasSize(1);
    assertThat(letters.get(0).get("error").get("message").asString()).isEqualTo("boom");
    assertThat(letters.get(0).get("error").get("kind").asString()).isEqualTo("worker");

    api.post("/v1/tasks/" + id + "/redrive").send().expect(200);
    api.post("/v1/tasks/" + id + "/redrive").send().expect(ErrorCode.WRONG_STATE);
    report(claim("dies").get(0), "dead", ",\"error\":\"again\"");

    JsonNode redriven =
        api.post("/v1/dead-letters/redrive").json("{\"type\":\"dies\"}").send().expect(200).json();
    assertThat(redriven.get("redriven").asInt()).isEqualTo(1);
    report(claim("dies").get(0), "dead", "");
    assertThat(
            api.post("/v1/dead-letters/purge")
                .json("{\"type\":\"dies\"}")
                .send()
                .expect(200)
                .json()
                .get("purged")
                .asInt())
        .isEqualTo(1);
    api.get("/v1/tasks/" + id).send().expect(ErrorCode.NOT_FOUND);
  }

  @Test
  void a_text_search_finds_failed_responses_but_not_completed_ones() {
    api.task("{\"type\":\"answers\"}");
    report(claim("answers").get(0), "completed", ",\"output\":\"The tax is 7\"");
    String failed = api.task("{\"type\":\"answers\"}");
    report(claim("answers").get(0), "failed", ",\"error\":\"boom\",\"output\":\"No tax rate\"");

    JsonNode found =
        api.get("/v1/tasks?type=answers&error=TAX").send().expect(200).json().get("items");
    assertThat(found).hasSize(1);
    assertThat(found.get(0).get("id").asString()).isEqualTo(failed);
    assertThat(cancelByText("no such")).isZero();
    assertThat(cancelByText("tax rate")).isEqualTo(1);
    assertThat(api.get("/v1/tasks/" + failed).send().expect(200).text("status"))
        .isEqualTo("CANCELLED");
  }

  private static int cancelByText(String text) {
    String body = "{\"type\":\"answers\",\"error\":\"%s\"}".formatted(text);
    return api.post("/v1/tasks/cancel")
        .json(body)
        .send()
        .expect(200)
        .json()
        .get("cancelled")
        .asInt();
  }

  @Test
  void a_new_task_wakes_a_waiting_claim() throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<JsonNode> claim = threads.submit(() -> claim("awaited"));
      Awaitility.await().until(() -> claim.state() == Future.State.RUNNING);

      String id = api.task("{\"type\":\"awaited\"}");

      assertThat(claim.get().get(0).get("id").asString()).isEqualTo(id);
    }
  }

  @Test
  void waiting_claims_hold_no_database_permits() throws Exception {
    try (TestApi narrow = TestApi.start(2);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      for (int i = 0; i < 50; i++) {
        Future<?> _ =
            threads.submit(
                () ->
                    narrow
                        .post("/v1/work/claim")
                        .json("{\"types\":[\"none\"],\"wait\":\"3s\"}")
                        .send()
                        .expect(200));
      }

      narrow.get("/v1/tasks").send().expect(200);
      narrow.task("{\"type\":\"t\"}");
    }
  }

  @Test
  void a_repeated_claim_returns_the_same_tasks() {
    api.task("{\"type\":\"again\"}");
    String body = "{\"types\":[\"again\"],\"wait\":\"5s\"}";

    TestApi.Reply first =
        api.post("/v1/work/claim").header("Idempotency-Key", "c-1").json(body).send().expect(200);
    TestApi.Reply again =
        api.post("/v1/work/claim").header("Idempotency-Key", "c-1").json(body).send().expect(200);

    assertThat(first.json().get("tasks")).hasSize(1);
    assertThat(again.body()).isEqualTo(first.body());
  }

  @ParameterizedTest
  @ValueSource(strings = {"completed", "dead"})
  void a_worker_cannot_report_tasks_of_types_that_its_key_does_not_allow(String outcome) {
    api.post("/v1/tasks")
        .json("{\"type\":\"not-yours\",\"target\":{\"pull\":{}}}")
        .send()
        .expect(202);
    JsonNode task = claim("not-yours").get(0);
    String key =
        api.post("/v1/keys")
            .json("{\"name\":\"w\",\"role\":\"worker\",\"types\":[\"yours\"]}")
            .send()
            .expect(201)
            .json()
            .get("key")
            .asString();
    String lease =
        "\"id\":\"%s\",\"token\":\"%s\""
            .formatted(task.get("id").asString(), task.get("token").asString());

    TestApi.Reply reported =
        api.request("POST", "/v1/work/report")
            .as(key)
            .json("{\"results\":[{" + lease + ",\"outcome\":\"" + outcome + "\"}]}")
            .send()
            .expect(200);
    TestApi.Reply renewed =
        api.request("POST", "/v1/work/renew")
            .as(key)
            .json("{\"leases\":[{" + lease + "}]}")
            .send()
            .expect(200);

    assertThat(result(reported, "results")).isEqualTo("stale");
    assertThat(result(renewed, "leases")).isEqualTo("stale");
    assertThat(show(task).json().get("status").asString()).isEqualTo("RUNNING");
  }
}
