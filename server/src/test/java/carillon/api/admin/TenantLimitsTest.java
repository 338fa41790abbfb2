package carillon.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.deadletters.ArchiveLine;
import carillon.api.error.ErrorCode;
import carillon.testkit.DeadTasks;
import carillon.testkit.OldDeadLetters;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Limits of a tenant's types, lanes, schedules and keys. */
class TenantLimitsTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @AfterEach
  void restoreDefaults() {
    api.world.sql("UPDATE carillon.tenant_limits SET types = 1000, lanes = 10000, keys = 1000");
  }

  /** Creates a tenant with limits and returns the key of its owner. */
  private static String owner(String tenant, String limits) {
    String owner = api.key(tenant, "owner");
    limit(tenant, limits);
    return owner;
  }

  private static void limit(String tenant, String limits) {
    api.put("/v1/tenants/" + tenant).json(limits).send().expect(200);
  }

  private static String batch(int types) {
    return IntStream.range(0, types)
        .mapToObj(i -> "{\"type\":\"t" + i + "\"}")
        .collect(Collectors.joining(",", "{\"tasks\":[", "]}"));
  }

  private static String count(String table, String tenant) {
    return api.world.value(
        "SELECT count(*) FROM carillon.%s x JOIN carillon.tenant t ON t.id = x.tenant"
                .formatted(table)
            + " WHERE t.name = '%s'".formatted(tenant));
  }

  private static TestApi.Reply send(String key, String method, String path, String body) {
    return api.request(method, path).as(key).json(body).send();
  }

  private static void assertRejected(TestApi.Reply reply, String pointer, String message) {
    reply.expect(ErrorCode.LIMIT_REACHED);
    assertThat(reply.text("detail")).contains(message);
    JsonNode errors = reply.json().get("errors");
    if (pointer.isEmpty()) {
      assertThat(errors).isNull();
    } else {
      assertThat(errors.get(0).get("pointer").asString()).isEqualTo(pointer);
    }
  }

  @Test
  void a_rejected_batch_of_12000_new_types_creates_none_of_them() {
    String producer = api.key("many", "producer");

    for (int i = 0; i < 2; i++) {
      TestApi.Reply reply = send(producer, "POST", "/v1/tasks/batch", batch(12_000));

      assertRejected(reply, "/tasks/1000/type", "this tenant may have at most 1000 types");
    }
    assertThat(count("task_type", "many")).isEqualTo("0");
    assertThat(count("lane", "many")).isEqualTo("0");
    assertThat(count("task", "many")).isEqualTo("0");
    send(producer, "POST", "/v1/tasks/batch", batch(1_000)).expect(202);
    assertThat(count("task_type", "many")).isEqualTo("1000");
    assertRejected(send(producer, "POST", "/v1/tasks", "{\"type\":\"one-more\"}"), "/type", "1000");
    send(producer, "POST", "/v1/tasks", "{\"type\":\"t999\"}").expect(202);
  }

  @Test
  void a_batch_beyond_the_type_limit_points_to_the_first_task_of_the_new_type() {
    String owner = owner("few", "{\"maxTypes\":3}");
    send(owner, "POST", "/v1/tasks", "{\"type\":\"t1\"}").expect(202);

    assertRejected(send(owner, "POST", "/v1/tasks/batch", batch(5)), "/tasks/3/type", "3 types");

    assertThat(count("task_type", "few")).isEqualTo("1");
    send(owner, "POST", "/v1/tasks/batch", batch(3)).expect(202);
  }

  @Test
  void types_are_limited_on_every_path() {
    String owner = owner("ways", "{\"maxTypes\":1}");
    send(owner, "PUT", "/v1/types/a", "{}").expect(201);

    assertRejected(send(owner, "PUT", "/v1/types/b", "{}"), "", "1 types");
    assertRejected(send(owner, "POST", "/v1/tasks", "{\"type\":\"b\"}"), "/type", "1 types");
    assertRejected(
        api.request("POST", "/v1/tasks")
            .as(owner)
            .header("Idempotency-Key", "k")
            .json("{\"type\":\"b\"}")
            .send(),
        "/type",
        "1 types");
    assertRejected(
        send(owner, "PUT", "/v1/schedules/s", "{\"every\":\"1h\",\"type\":\"b\"}"),
        "/type",
        "1 types");
    assertThat(count("task_type", "ways")).isEqualTo("1");
    assertThat(count("schedule", "ways")).isEqualTo("0");
    assertThat(count("reply", "ways")).isEqualTo("0");

    send(owner, "PUT", "/v1/types/a", "{\"priority\":3}").expect(200);
    send(owner, "PUT", "/v1/schedules/s", "{\"every\":\"1h\",\"type\":\"a\"}").expect(201);
    assertRejected(
        send(owner, "PUT", "/v1/schedules/s", "{\"every\":\"1h\",\"type\":\"b\"}"),
        "/type",
        "1 types");
    send(owner, "POST", "/v1/schedules/s/trigger", "{}").expect(202);
    limit("ways", "{\"maxTypes\":2}");
    send(owner, "POST", "/v1/tasks", "{\"type\":\"b\"}").expect(202);
  }

  @Test
  void lanes_are_limited_also_when_a_priority_changes() {
    String owner = owner("lanes", "{\"maxLanes\":2}");
    String id =
        send(owner, "POST", "/v1/tasks", "{\"type\":\"a\",\"delay\":\"1h\"}")
            .expect(202)
            .text("id");
    send(owner, "POST", "/v1/tasks", "{\"type\":\"a\",\"priority\":1}").expect(202);

    assertRejected(
        send(owner, "POST", "/v1/tasks", "{\"type\":\"a\",\"priority\":2}"), "/type", "2 lanes");
    assertRejected(
        send(owner, "PATCH", "/v1/tasks/" + id, "{\"priority\":2}"), "/priority", "2 lanes");
    assertRejected(
        send(owner, "PATCH", "/v1/tasks/" + id, "{\"target\":{\"discard\":{}}}"),
        "/target",
        "2 lanes");
    assertRejected(send(owner, "POST", "/v1/tasks", "{\"type\":\"b\"}"), "/type", "2 lanes");

    assertThat(count("task_type", "lanes")).as("types of rejected lanes").isEqualTo("1");
    assertThat(send(owner, "PATCH", "/v1/tasks/" + id, "{\"priority\":1}").expect(200).text("id"))
        .isEqualTo(id);
  }

  @Test
  void internal_types_and_lanes_are_never_limited() {
    String owner = owner("own", "{\"maxTypes\":1,\"maxLanes\":1}");
    send(owner, "PUT", "/v1/types/a", "{\"onDead\":{\"http\":{\"url\":\"https://a.example/\"}}}")
        .expect(201);
    send(owner, "PUT", "/v1/schedules/s", "{\"every\":\"1h\",\"type\":\"a\",\"priority\":1}")
        .expect(201);
    send(owner, "POST", "/v1/tasks", "{\"type\":\"a\"}").expect(202);

    send(owner, "POST", "/v1/schedules/s/trigger", "{}").expect(202);
    JsonNode task =
        send(owner, "POST", "/v1/work/claim", "{\"types\":[\"a\"],\"wait\":\"5s\"}")
            .expect(200)
            .json()
            .get("tasks")
            .get(0);
    TestApi.Reply reported =
        send(
            owner,
            "POST",
            "/v1/work/report",
            "{\"results\":[{\"id\":\"%s\",\"token\":\"%s\",\"outcome\":\"dead\"}]}"
                .formatted(task.get("id").asString(), task.get("token").asString()));

    assertThat(reported.expect(200).body()).contains("accepted");
    assertThat(count("lane", "own")).isEqualTo("3");
  }

  @Test
  void schedules_and_keys_are_limited() {
    String owner = owner("both", "{\"maxSchedules\":2,\"maxKeys\":3}");
    String every = "{\"every\":\"1h\",\"type\":\"a\"}";
    String key = "{\"name\":\"n\",\"role\":\"viewer\"}";
    send(owner, "PUT", "/v1/schedules/a", every).expect(201);
    send(owner, "PUT", "/v1/schedules/b", every).expect(201);

    assertRejected(
        send(owner, "PUT", "/v1/schedules/c", every.replace("\"a\"", "\"new\"")),
        "",
        "2 schedules");
    assertThat(count("task_type", "both")).as("the type of the rejected task").isEqualTo("1");
    send(owner, "PUT", "/v1/schedules/b", every.replace("1h", "2h")).expect(200);
    api.request("DELETE", "/v1/schedules/a").as(owner).send().expect(204);
    send(owner, "PUT", "/v1/schedules/c", every).expect(201);

    String id = send(owner, "POST", "/v1/keys", key).expect(201).text("id");
    send(owner, "POST", "/v1/keys", key).expect(201);
    assertRejected(send(owner, "POST", "/v1/keys", key), "", "3 keys");
    assertThat(count("api_key", "both")).isEqualTo("3");
    api.request("DELETE", "/v1/keys/" + id).as(owner).send().expect(204);
    send(owner, "POST", "/v1/keys", key).expect(201);
  }

  @Test
  void a_tenant_above_a_new_limit_keeps_what_it_has_and_gets_no_more() {
    String owner = owner("above", "{}");
    send(owner, "POST", "/v1/tasks/batch", batch(5)).expect(202);

    api.world.sql("UPDATE carillon.tenant_limits SET types = 3, lanes = 3");

    send(owner, "POST", "/v1/tasks/batch", batch(5)).expect(202);
    assertRejected(send(owner, "POST", "/v1/tasks/batch", batch(6)), "/tasks/5/type", "3 types");
    JsonNode limits = api.request("GET", "/v1/stats").as(owner).send().expect(200).json();
    assertThat(limits.get("limits").toString())
        .isEqualTo(
            "{\"types\":{\"used\":5,\"max\":3},\"lanes\":{\"used\":5,\"max\":3},"
                + "\"schedules\":{\"used\":0,\"max\":10000},\"keys\":{\"used\":1,\"max\":1000}}");
    String limited = api.key("above", "producer", "t1");
    assertThat(api.request("GET", "/v1/stats").as(limited).send().json().has("limits")).isFalse();
    assertThat(api.get("/v1/stats/tenants").send().expect(200).body())
        .contains("\"types\":{\"used\":5,\"max\":3}");
  }

  @Test
  void a_restore_beyond_the_type_limit_is_rejected_with_its_line() {
    String body;
    try (TestApi other = TestApi.start()) {
      DeadTasks.fill(other.world, 8, 4); // two of each type
      OldDeadLetters.age(other.world);
      body =
          other.world.store.archive().oldest(Duration.ofHours(1), 1_000, 1 << 30).letters().stream()
              .map(letter -> ArchiveLine.of(letter.task()).replace("\"default\"", "\"archive\""))
              .collect(Collectors.joining("\n"));
    }
    owner("archive", "{\"maxTypes\":3}");

    TestApi.Reply reply = restore("\n" + body); // a blank line first

    reply.expect(ErrorCode.LIMIT_REACHED);
    assertThat(reply.json().get("errors").get(0).get("pointer").asString())
        .matches("/lines/[1-8]/type");
    assertThat(count("task_type", "archive")).isEqualTo("0");
    limit("archive", "{\"maxTypes\":4}");
    restore(body).expect(200);
  }

  private static TestApi.Reply restore(String lines) {
    return api.post("/v1/dead-letters/restore")
        .header("Carillon-Tenant", "archive")
        .bytes("application/x-ndjson", lines.getBytes(StandardCharsets.UTF_8))
        .send();
  }

  @Test
  void limits_of_a_tenant_are_shown_and_validated() {
    limit("shown", "{\"maxTypes\":5,\"maxKeys\":6}");

    assertThat(api.get("/v1/tenants/shown").send().expect(200).body())
        .contains("\"maxTypes\":5", "\"maxKeys\":6")
        .doesNotContain("maxLanes", "maxSchedules");
    for (String bad : List.of("0", "-1", "1000001", "1.5")) {
      api.put("/v1/tenants/shown")
          .json("{\"maxLanes\":" + bad + "}")
          .send()
          .expect(ErrorCode.OUT_OF_RANGE);
    }
  }
}
