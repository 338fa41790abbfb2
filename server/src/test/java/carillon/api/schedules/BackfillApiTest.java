package carillon.api.schedules;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.testkit.ScheduleRows;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** Backfills over HTTP, and lists of tasks by schedule. */
class BackfillApiTest {

  private static final String RANGE =
      "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T12:10:00+02:00\"";

  private TestApi api;
  private ScheduleRows scheduled;

  @BeforeEach
  void start() {
    api = TestApi.start();
    scheduled = new ScheduleRows(api.world);
  }

  @AfterEach
  void stop() {
    api.close();
  }

  private TestApi.Request backfill(String schedule, String body) {
    return api.post("/v1/schedules/" + schedule + "/backfill").json(body);
  }

  private void runSteps() {
    for (List<UUID> open = api.world.store.backfillSteps().open(1);
        !open.isEmpty();
        open = api.world.store.backfillSteps().open(1)) {
      api.world.store.backfillSteps().take(open.getFirst());
    }
  }

  @Test
  void a_backfill_is_started_watched_and_listed() {
    scheduled.every("nightly", 300);

    TestApi.Reply started = backfill("nightly", RANGE + "}").send().expect(202);
    String path = String.valueOf(started.header("Location"));
    runSteps();
    JsonNode done = api.get(path).send().expect(200).json();
    JsonNode list = api.get("/v1/schedules/nightly/backfills").send().expect(200).json();

    assertThat(path).isEqualTo("/v1/schedules/nightly/backfills/" + started.text("id"));
    assertThat(started.text("status")).isEqualTo("RUNNING");
    assertThat(started.text("schedule")).isEqualTo("nightly");
    assertThat(started.text("from")).isEqualTo("2025-10-01T10:00:00.000Z");
    assertThat(started.text("to")).isEqualTo("2025-10-01T10:10:00.000Z");
    assertThat(started.text("overlap")).isEqualTo("queue");
    assertThat(started.json().get("times").asInt()).isEqualTo(3);
    assertThat(started.json().get("finishedAt").isNull()).isTrue();
    assertThat(done.get("status").asString()).isEqualTo("DONE");
    assertThat(done.get("created").asInt()).isEqualTo(3);
    assertThat(done.get("existing").asInt()).isZero();
    assertThat(done.get("skipped").asInt()).isZero();
    assertThat(done.get("createdBy").asString()).isNotEmpty();
    assertThat(done.get("finishedAt").isNull()).isFalse();
    assertThat(list.get("items")).containsExactly(done);
    assertThat(list.get("nextCursor").isNull()).isTrue();
    assertThat(
            api.get("/v1/audit?action=schedule.backfill")
                .send()
                .expect(200)
                .json()
                .at("/items/0/subject")
                .asString())
        .isEqualTo("nightly");
  }

  @Test
  void a_dry_run_only_counts() {
    long id = scheduled.every("nightly", 300);
    scheduled.recordTask(id, "2025-10-01T10:05:00Z", "UTC");

    TestApi.Reply reply = backfill("nightly", RANGE + ", \"dryRun\": true}").send().expect(200);

    assertThat(reply.body()).isEqualTo("{\"times\":3,\"existing\":1}");
    assertThat(api.world.value("SELECT count(*) FROM carillon.backfill")).isEqualTo("0");
  }

  @Test
  void times_without_recorded_fires_require_again() {
    scheduled.every("nightly", 300);
    api.world.sql("UPDATE carillon.schedule SET created_at = '2025-09-01'");

    TestApi.Reply rejected = backfill("nightly", RANGE + "}").send().expect(422);
    backfill("nightly", RANGE + ", \"again\": 1}").send().expect(422);
    backfill("nightly", RANGE + ", \"again\": true}").send().expect(202);

    assertThat(rejected.json().at("/errors/0/pointer").asString()).isEqualTo("/from");
    assertThat(rejected.json().at("/errors/0/code").asString()).isEqualTo("out_of_range");
    assertThat(rejected.json().at("/errors/0/message").asString())
        .contains("no longer recorded", "\"again\": true");
  }

  @Test
  void the_same_idempotency_key_starts_one_backfill() {
    scheduled.every("nightly", 300);

    TestApi.Reply first =
        backfill("nightly", RANGE + "}").header("Idempotency-Key", "k").send().expect(202);
    TestApi.Reply second =
        backfill("nightly", RANGE + "}").header("Idempotency-Key", "k").send().expect(202);

    assertThat(second.body()).isEqualTo(first.body());
    assertThat(second.header("Location")).isEqualTo(first.header("Location"));
    assertThat(api.world.value("SELECT count(*) FROM carillon.backfill")).isEqualTo("1");
  }

  @Test
  void a_backfill_can_be_stopped_once() {
    scheduled.every("nightly", 300);
    String path = String.valueOf(backfill("nightly", RANGE + "}").send().header("Location"));

    TestApi.Reply stopped = api.post(path + "/stop").send().expect(200);

    assertThat(stopped.text("status")).isEqualTo("STOPPED");
    api.post(path + "/stop").send().expect(ErrorCode.WRONG_STATE);
    runSteps();
    assertThat(api.world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "{}|/from|required_field|is required",
        "{\"from\": \"2025-10-01T10:00:00Z\"}|/to|required_field|is required",
        "{\"from\": \"yesterday\", \"to\": \"2025-10-01T10:00:00Z\"}|/from|invalid_time|RFC 3339",
        "{\"from\": \"2025-10-01T10:00:00\", \"to\":"
            + " \"2025-10-01T10:00:00Z\"}|/from|zone_required|offset",
        "{\"from\": 7, \"to\": \"2025-10-01T10:00:00Z\"}|/from|invalid_time|RFC 3339",
        "{\"from\": \"2025-10-02T10:00:00Z\", \"to\":"
            + " \"2025-10-01T10:00:00Z\"}|/to|invalid_value|before from",
        "{\"from\": \"2025-10-01T10:00:00Z\", \"to\":"
            + " \"9998-10-01T10:00:00Z\"}|/to|out_of_range|must be in the past",
        "{\"from\": \"0001-01-01T00:00:00Z\", \"to\":"
            + " \"2025-10-01T10:00:00Z\"}|/from|too_many|100000",
        "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:00:00Z\", \"overlap\":"
            + " \"skip\"}|/overlap|invalid_value|queue, allow",
        "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:00:00Z\", \"overlap\":"
            + " \"QUEUE\"}|/overlap|invalid_value|queue, allow",
        "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:00:00Z\", \"dryRun\":"
            + " \"yes\"}|/dryRun|invalid_type|true or false",
        "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:00:00Z\", \"rate\":"
            + " 1}|/rate|unknown_field|unknown field"
      })
  void invalid_input_is_rejected_and_starts_nothing(
      String body, String pointer, String code, String message) {
    scheduled.every("often", 1);

    TestApi.Reply reply = backfill("often", body).send();

    assertThat(reply.status()).as(reply.body()).isIn(400, 422);
    JsonNode error = reply.json().get("errors").get(0);
    assertThat(error.get("pointer").asString()).as(reply.body()).isEqualTo(pointer);
    assertThat(error.get("message").asString()).contains(message);
    assertThat(reply.body()).contains(code);
    assertThat(api.world.value("SELECT count(*) FROM carillon.backfill")).isEqualTo("0");
  }

  @Test
  void a_missing_schedule_or_backfill_is_not_found() {
    scheduled.every("nightly", 300);
    scheduled.every("other", 300);
    String id = backfill("nightly", RANGE + "}").send().text("id");

    backfill("none", RANGE + "}").send().expect(ErrorCode.NOT_FOUND);
    api.get("/v1/schedules/none/backfills").send().expect(ErrorCode.NOT_FOUND);
    api.get("/v1/schedules/other/backfills/" + id).send().expect(ErrorCode.NOT_FOUND);
    api.post("/v1/schedules/other/backfills/" + id + "/stop").send().expect(ErrorCode.NOT_FOUND);
    api.get("/v1/schedules/nightly/backfills/1-1-1-1-1").send().expect(ErrorCode.INVALID_ID);
    api.get("/v1/schedules/nightly/backfills/" + UUID.randomUUID())
        .send()
        .expect(ErrorCode.NOT_FOUND);
  }

  @Test
  void an_invalid_name_is_rejected_everywhere() {
    String path = "/v1/schedules/no%20name";
    String backfill = path + "/backfills/" + UUID.randomUUID();

    List<TestApi.Request> calls =
        List.of(
            api.get(path),
            api.request("DELETE", path).as(TestApi.ADMIN_KEY),
            api.post(path + "/resume"),
            api.get(path + "/fires"),
            backfill("no%20name", RANGE + "}"),
            api.get(path + "/backfills"),
            api.get(backfill),
            api.post(backfill + "/stop"));

    calls.forEach(call -> call.send().expect(ErrorCode.INVALID_ID));
  }

  @Test
  void a_key_limited_to_other_types_cannot_list_backfills() {
    scheduled.every("nightly", 300);

    api.request("GET", "/v1/schedules/nightly/backfills")
        .as(api.key("default", "worker", "other"))
        .send()
        .expect(ErrorCode.NOT_FOUND);
    api.request("GET", "/v1/schedules/nightly/backfills")
        .as(api.key("default", "worker", "report"))
        .send()
        .expect(200);
  }

  @Test
  void a_stored_response_outlives_its_schedule() {
    scheduled.every("nightly", 300);
    TestApi.Request first = backfill("nightly", RANGE + "}").header("Idempotency-Key", "k");
    String started = first.send().expect(202).body();
    api.world.sql("DELETE FROM carillon.schedule");

    TestApi.Request second = backfill("nightly", RANGE + "}").header("Idempotency-Key", "k");

    assertThat(second.send().expect(202).body()).isEqualTo(started);
  }

  @Test
  void another_tenant_and_a_key_limited_to_other_types_see_no_backfill() {
    scheduled.every("nightly", 300);
    String id = backfill("nightly", RANGE + "}").send().text("id");
    String path = "/v1/schedules/nightly/backfills";
    String stranger = api.key("strangers", "owner");
    String limited = api.key("default", "worker", "other");
    String viewer = api.key("default", "viewer");

    for (String key : List.of(stranger, limited)) {
      api.request("GET", path).as(key).send().expect(ErrorCode.NOT_FOUND);
      api.request("GET", path + "/" + id).as(key).send().expect(ErrorCode.NOT_FOUND);
    }
    api.request("POST", path + "/" + id + "/stop").as(stranger).send().expect(ErrorCode.NOT_FOUND);
    api.request("GET", path + "/" + id).as(viewer).send().expect(200);
    api.request("POST", path + "/" + id + "/stop")
        .as(viewer)
        .send()
        .expect(ErrorCode.MISSING_SCOPE);
  }

  @Test
  void a_tenant_has_at_most_20_running_backfills() {
    scheduled.every("nightly", 300);
    for (int i = 0; i < 20; i++) {
      backfill("nightly", RANGE + "}").send().expect(202);
    }

    backfill("nightly", RANGE + "}").send().expect(ErrorCode.TOO_MANY_BACKFILLS);
  }

  @Test
  void tasks_of_a_schedule_are_listed_by_nominal_time() {
    scheduled.every("nightly", 60);
    api.task("{\"type\": \"report\"}");
    backfill("nightly", RANGE + "}").send().expect(202);
    runSteps();

    List<String> fireAts = new ArrayList<>();
    String cursor = "";
    do {
      JsonNode page =
          api.get("/v1/tasks?schedule=nightly&status=PENDING&type=report&limit=4" + cursor)
              .send()
              .expect(200)
              .json();
      page.get("items").forEach(task -> fireAts.add(task.get("fireAt").asString()));
      cursor =
          page.get("nextCursor").isNull() ? "" : "&cursor=" + page.get("nextCursor").asString();
    } while (!cursor.isEmpty());

    assertThat(fireAts)
        .hasSize(11)
        .startsWith("2025-10-01T10:10:00.000Z", "2025-10-01T10:09:00.000Z")
        .endsWith("2025-10-01T10:00:00.000Z")
        .doesNotHaveDuplicates();
    assertThat(api.get("/v1/tasks?schedule=none").send().expect(200).json().get("items")).isEmpty();
  }

  @Test
  void tasks_of_a_deleted_schedule_are_still_listed() {
    scheduled.every("nightly", 300);
    backfill("nightly", RANGE + "}").send().expect(202);
    runSteps();
    String cursor =
        api.get("/v1/tasks?schedule=nightly&limit=1").send().expect(200).text("nextCursor");
    api.world.sql("DELETE FROM carillon.schedule");

    JsonNode page = api.get("/v1/tasks?schedule=nightly&limit=2").send().expect(200).json();
    JsonNode next =
        api.get("/v1/tasks?schedule=nightly&limit=2&cursor=" + page.get("nextCursor").asString())
            .send()
            .expect(200)
            .json();

    assertThat(page.get("items")).hasSize(2);
    assertThat(next.get("items")).hasSize(1);
    api.get("/v1/tasks?schedule=nightly&limit=1&cursor=" + cursor)
        .send()
        .expect(ErrorCode.INVALID_CURSOR);
  }

  @Test
  void tasks_and_claims_show_their_schedule_and_nominal_time() {
    scheduled.every("nightly", 300);
    api.world.sql("UPDATE carillon.schedule SET target = NULL"); // pulled by workers
    backfill("nightly", "{\"from\": \"2025-10-01T10:00:00Z\", \"to\": \"2025-10-01T10:00:00Z\"}")
        .send()
        .expect(202);
    runSteps();
    JsonNode claimed =
        api.post("/v1/work/claim")
            .json("{\"types\": [\"report\"], \"max\": 1, \"wait\": \"5s\", \"worker\": \"w\"}")
            .send()
            .expect(200)
            .json()
            .at("/tasks/0");

    JsonNode task = api.get("/v1/tasks/" + claimed.get("id").asString()).send().expect(200).json();

    for (JsonNode each : List.of(claimed, task)) {
      assertThat(each.get("scheduleName").asString()).isEqualTo("nightly");
      assertThat(each.get("fireAt").asString()).isEqualTo("2025-10-01T10:00:00.000Z");
    }
    api.post("/v1/tasks")
        .json("{\"type\": \"t\", \"fireAt\": \"2025-10-01T10:00:00Z\"}")
        .send()
        .expect(ErrorCode.READ_ONLY_FIELD);
    JsonNode plain = api.get("/v1/tasks/" + api.task("{\"type\": \"t\"}")).send().json();
    assertThat(plain.get("scheduleName").isNull()).isTrue();
    assertThat(plain.get("fireAt").isNull()).isTrue();
  }
}
