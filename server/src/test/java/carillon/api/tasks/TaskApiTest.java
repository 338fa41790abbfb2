package carillon.api.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.Partition;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Tasks over HTTP, from their creation to their end. */
class TaskApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @Test
  void a_task_is_created_and_reads_back_as_it_was_sent() {
    String payload = "{\"amount\": 1.0, \"big\": 12345678901234567890.10, \"text\": \"\\u00e9\"}";

    TestApi.Reply created =
        api.post("/v1/tasks")
            .json(
                "{\"type\":\"echo\",\"key\":\"k1\",\"delay\":\"1h\",\"payload\":"
                    + payload
                    + ",\"metadata\":{\"a\":\"b\"}}")
            .send()
            .expect(202);
    TestApi.Reply shown = api.get("/v1/tasks/" + created.text("id")).send().expect(200);

    assertThat(created.header("location")).isEqualTo("/v1/tasks/" + created.text("id"));
    assertThat(created.header("etag")).isEqualTo("\"1\"");
    assertThat(created.body()).contains("\"payload\":" + payload);
    assertThat(shown.body()).contains("\"payload\":" + payload);
    assertThat(shown.text("status")).isEqualTo("PENDING");
    assertThat(Instant.parse(shown.text("nextAttemptAt")))
        .isCloseTo(shown.text("dueAt"), within(2, ChronoUnit.MILLIS));
    assertThat(shown.text("dueAt")).matches(".*\\.\\d{3}Z");
    assertThat(shown.json().get("error").isNull()).isTrue();
    assertThat(shown.json().get("transitions").get(0).get("to").asString()).isEqualTo("PENDING");
    assertThat(shown.json().get("attempts")).isEmpty();
  }

  @Test
  void the_same_idempotency_key_creates_one_task() {
    String body = "{\"type\":\"once\"}";
    TestApi.Reply first =
        api.post("/v1/tasks").header("Idempotency-Key", "i-1").json(body).send().expect(202);
    TestApi.Reply again =
        api.post("/v1/tasks").header("Idempotency-Key", "i-1").json(body).send().expect(202);

    assertThat(again.body()).isEqualTo(first.body());
    assertThat(again.header("location")).isEqualTo(first.header("location"));
    assertThat(again.header("etag")).isEqualTo(first.header("etag"));
    assertThat(first.header("idempotency-replayed")).isNull();
    assertThat(again.header("idempotency-replayed")).isEqualTo("true");
    api.post("/v1/tasks")
        .header("Idempotency-Key", "i-1")
        .json("{\"type\":\"other\"}")
        .send()
        .expect(ErrorCode.IDEMPOTENCY_MISMATCH);
    api.post("/v1/tasks/cancel")
        .header("Idempotency-Key", "i-1")
        .json(body)
        .send()
        .expect(ErrorCode.IDEMPOTENCY_MISMATCH);
    api.key("other", "owner");
    TestApi.Reply elsewhere =
        api.post("/v1/tasks")
            .header("Idempotency-Key", "i-1")
            .header("Carillon-Tenant", "other")
            .json(body)
            .send();
    assertThat(elsewhere.expect(202).text("id")).isNotEqualTo(first.text("id"));
  }

  @Test
  void a_rejected_request_does_not_use_up_its_idempotency_key() {
    api.post("/v1/tasks")
        .header("Idempotency-Key", "i-2")
        .json("{\"type\":\"\"}")
        .send()
        .expect(422);

    api.post("/v1/tasks")
        .header("Idempotency-Key", "i-2")
        .json("{\"type\":\"t\"}")
        .send()
        .expect(202);
  }

  @Test
  void creating_an_existing_unique_task_returns_it() {
    String body = "{\"type\":\"u\",\"key\":\"same\",\"delay\":\"1h\",\"unique\":{\"for\":\"1h\"}}";

    String id = api.task(body);

    assertThat(api.post("/v1/tasks").json(body).send().expect(200).text("id")).isEqualTo(id);
  }

  @Test
  void a_batch_is_accepted_in_both_forms_and_in_order() {
    TestApi.Reply object =
        api.post("/v1/tasks/batch")
            .json(
                "{\"tasks\":[{\"type\":\"b\",\"key\":\"b0\"},{\"type\":\"b\",\"key\":\"b1\",\"payload\":1.0}]}")
            .send()
            .expect(202);
    TestApi.Reply lines =
        api.post("/v1/tasks/batch")
            .bytes(
                "application/x-ndjson",
                "{\"type\":\"b\"}\r\n\n{\"type\":\"b\"}".getBytes(StandardCharsets.UTF_8))
            .send()
            .expect(202);

    assertThat(object.json().get("accepted").asInt()).isEqualTo(2);
    assertThat(lines.json().get("accepted").asInt()).isEqualTo(2);
    for (int i = 0; i < 2; i++) {
      String id = object.json().get("ids").get(i).asString();
      assertThat(api.get("/v1/tasks/" + id).send().text("key")).isEqualTo("b" + i);
    }
  }

  @Test
  void pages_list_every_task_once_and_cursors_belong_to_their_list() {
    for (int i = 0; i < 7; i++) {
      api.task("{\"type\":\"page\",\"payload\":{\"n\":1},\"delay\":\"" + (i + 1) + "h\"}");
    }
    List<String> ids = new ArrayList<>();
    String cursor = null;
    do {
      JsonNode page = page("/v1/tasks?type=page&limit=3", cursor);
      page.get("items").forEach(item -> ids.add(item.get("id").asString()));
      assertThat(page.get("items")).noneMatch(item -> item.has("payload"));
      cursor = page.get("nextCursor").isNull() ? null : page.get("nextCursor").asString();
      if (cursor != null) {
        api.get("/v1/tasks?type=other&cursor=" + cursor).send().expect(ErrorCode.INVALID_CURSOR);
        api.get("/v1/tasks?type=page&limit=5&view=full&cursor=" + cursor).send().expect(200);
      }
    } while (cursor != null);

    assertThat(ids).hasSize(7).doesNotHaveDuplicates();
    assertThat(api.get("/v1/tasks?type=page&view=full").send().json().get("items"))
        .allMatch(item -> item.get("payload").get("n").asInt() == 1);
  }

  private static JsonNode page(String path, @Nullable String cursor) {
    return api.get(path + (cursor == null ? "" : "&cursor=" + cursor)).send().expect(200).json();
  }

  @Test
  void a_waiting_task_is_patched_only_with_its_current_version() {
    String path = "/v1/tasks/" + api.task("{\"type\":\"p\",\"delay\":\"1h\"}");

    TestApi.Reply patched =
        api.patch(path).header("If-Match", "\"1\"").json("{\"priority\":9}").send().expect(200);

    assertThat(patched.json().get("priority").asInt()).isEqualTo(9);
    assertThat(patched.header("etag")).isNotEqualTo("\"1\"");
    api.patch(path)
        .header("If-Match", "\"1\"")
        .json("{\"priority\":1}")
        .send()
        .expect(ErrorCode.STALE_VERSION);
    api.patch(path)
        .header("If-Match", "W/\"2\"")
        .json("{\"priority\":1}")
        .send()
        .expect(ErrorCode.STALE_VERSION);
    api.patch(path).header("If-Match", "*").json("{\"payload\":[1.50]}").send().expect(200);
    assertThat(api.get(path).send().body()).contains("\"payload\":[1.50]");
  }

  @Test
  void a_cancel_can_be_repeated_but_a_cancelled_task_cannot_be_changed() {
    String path = "/v1/tasks/" + api.task("{\"type\":\"c\",\"delay\":\"1h\"}");

    assertThat(api.post(path + "/cancel").send().expect(200).text("status")).isEqualTo("CANCELLED");
    assertThat(api.post(path + "/cancel").send().expect(200).text("status")).isEqualTo("CANCELLED");
    api.patch(path).json("{\"priority\":1}").send().expect(ErrorCode.WRONG_STATE);
    api.post(path + "/run").send().expect(ErrorCode.WRONG_STATE);
    api.post(path + "/redrive").send().expect(ErrorCode.WRONG_STATE);
  }

  @Test
  void tasks_are_cancelled_by_type_and_key() {
    api.task("{\"type\":\"many\",\"key\":\"a\",\"delay\":\"1h\"}");
    api.task("{\"type\":\"many\",\"key\":\"a\",\"delay\":\"2h\"}");
    api.task("{\"type\":\"many\",\"key\":\"b\",\"delay\":\"1h\"}");

    TestApi.Reply reply =
        api.post("/v1/tasks/cancel").json("{\"type\":\"many\",\"key\":\"a\"}").send().expect(200);

    assertThat(reply.body()).isEqualTo("{\"cancelled\":2,\"requested\":0}");
  }

  @Test
  void bulk_changes_succeed_while_partitions_are_created_and_dropped() throws Exception {
    Partition old = new Partition(LocalDate.of(2020, 1, 1));
    String noMatch = "{\"type\":\"nobody\",\"dryRun\":%s}";
    try (ExecutorService pool = Executors.newSingleThreadExecutor()) {
      Future<Integer> dropped =
          pool.submit(
              () -> {
                int drops = 0;
                for (int rounds = 0; rounds < 40; rounds++) {
                  api.world.partitions.ensure(old);
                  drops += api.world.partitions.dropBefore(new Partition(LocalDate.of(2020, 6, 1)));
                }
                return drops;
              });
      do {
        for (boolean isDry : new boolean[] {true, false}) {
          api.post("/v1/tasks/cancel").json(noMatch.formatted(isDry)).send().expect(200);
          api.post("/v1/tasks/run").json(noMatch.formatted(isDry)).send().expect(200);
        }
      } while (!dropped.isDone());
      assertThat(dropped.get()).as("partitions dropped during the requests").isPositive();
    }
  }

  @Test
  void a_dry_run_only_counts_matching_tasks_and_a_run_makes_them_due() {
    String a = api.task("{\"type\":\"bulk\",\"key\":\"a\",\"delay\":\"1h\"}");
    api.task("{\"type\":\"bulk\",\"key\":\"b\",\"delay\":\"90d\"}");

    String dry = "{\"type\":\"bulk\",\"status\":\"PENDING\",\"dryRun\":true}";
    assertThat(api.post("/v1/tasks/cancel").json(dry).send().expect(200).body())
        .isEqualTo("{\"matched\":2,\"cancelled\":0,\"dryRun\":true}");
    assertThat(api.post("/v1/tasks/run").json(dry).send().expect(200).body())
        .isEqualTo("{\"matched\":2,\"run\":0,\"dryRun\":true}");
    assertThat(api.get("/v1/tasks/" + a).send().expect(200).json().get("version").asInt())
        .isEqualTo(1);
    assertThat(api.post("/v1/tasks/run").json("{\"type\":\"bulk\"}").send().expect(200).body())
        .isEqualTo("{\"run\":2}");
    assertThat(Instant.parse(api.get("/v1/tasks/" + a).send().text("dueAt")))
        .isBefore(Instant.now().plusSeconds(1));
    assertThat(api.get("/v1/tasks?status=RUNNING&type=bulk").send().expect(200).json().get("items"))
        .isEmpty();
  }

  @Test
  void a_type_is_configured_paused_resumed_and_deleted() {
    String secret = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    TestApi.Reply created =
        api.put("/v1/types/hook")
            .json(
                "{\"target\":{\"http\":{\"url\":\"https://example.com/\"}},\"timeout\":\"10s\",\"signingSecret\":\""
                    + secret
                    + "\"}")
            .send()
            .expect(201);

    assertThat(created.text("timeout")).isEqualTo("PT10S");
    assertThat(created.json().get("signed").asBoolean()).isTrue();
    assertThat(created.body()).doesNotContain(secret);
    assertThat(api.get("/v1/types/hook").send().body()).doesNotContain(secret);
    assertThat(api.post("/v1/types/hook/pause").send().expect(200).json().get("paused").asBoolean())
        .isTrue();
    assertThat(
            api.post("/v1/types/hook/resume").send().expect(200).json().get("paused").asBoolean())
        .isFalse();
    api.put("/v1/types/hook")
        .header("If-Match", "\"1\"")
        .json("{}")
        .send()
        .expect(ErrorCode.STALE_VERSION);
    api.put("/v1/types/hook").json("{}").send().expect(200);
    String task = api.task("{\"type\":\"hook\",\"delay\":\"1h\"}");
    api.delete("/v1/types/hook").send().expect(ErrorCode.TYPE_IN_USE);
    api.post("/v1/tasks/" + task + "/cancel").send().expect(200);
    api.delete("/v1/types/hook").send().expect(204);
    api.get("/v1/types/hook").send().expect(ErrorCode.NOT_FOUND);
    assertThat(api.get("/v1/types?limit=1000").send().expect(200).json().get("items")).isNotEmpty();
  }

  @Test
  void a_strict_tenant_accepts_only_configured_types() {
    api.put("/v1/tenants/strict").json("{\"strict\":true}").send().expect(200);

    api.post("/v1/tasks")
        .header("Carillon-Tenant", "strict")
        .json("{\"type\":\"t\"}")
        .send()
        .expect(ErrorCode.UNKNOWN_TYPE);
    api.post("/v1/tasks/batch")
        .header("Carillon-Tenant", "strict")
        .json("{\"tasks\":[{\"type\":\"t\"}]}")
        .send()
        .expect(ErrorCode.UNKNOWN_TYPE);
  }
}
