package carillon.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.testkit.DeadTasks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Isolation of tenants, and the permissions of roles. */
class TenancyTest {

  private static final String UNKNOWN_ID = "0192f0c1-7d2a-7b3c-8d4e-5f6071829304";

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
  void ids_of_another_tenant_are_not_found() {
    String a = api.key("a-corp", "owner");
    String b = api.key("b-corp", "owner");
    String task =
        api.request("POST", "/v1/tasks")
            .as(a)
            .json("{\"type\":\"t\",\"delay\":\"1h\"}")
            .send()
            .expect(202)
            .text("id");
    api.request("PUT", "/v1/types/private").as(a).json("{}").send().expect(201);
    List<String[]> calls =
        List.of(
            new String[] {"GET", "/v1/tasks/" + task, ""},
            new String[] {"PATCH", "/v1/tasks/" + task, "{\"priority\":1}"},
            new String[] {"POST", "/v1/tasks/" + task + "/cancel", "{}"},
            new String[] {"POST", "/v1/tasks/" + task + "/run", "{}"},
            new String[] {"POST", "/v1/tasks/" + task + "/redrive", "{}"});

    for (String[] call : calls) {
      String ofAnother = send(b, call[0], call[1], call[2]);
      String ofNobody = send(b, call[0], call[1].replace(task, UNKNOWN_ID), call[2]);
      assertThat(ofAnother).as(call[0] + call[1]).isEqualTo(ofNobody).startsWith("404");
    }
    assertThat(send(b, "GET", "/v1/types/private", ""))
        .isEqualTo(send(b, "GET", "/v1/types/nothing", ""))
        .startsWith("404");
    assertThat(send(b, "GET", "/v1/tasks", "")).doesNotContain(task);
    assertThat(send(b, "POST", "/v1/tasks/cancel", "{\"type\":\"t\"}")).contains("\"cancelled\":0");
    assertThat(send(b, "POST", "/v1/tasks/run", "{\"type\":\"t\"}")).contains("\"run\":0");
    assertThat(send(b, "POST", "/v1/dead-letters/redrive", "{\"ids\":[\"" + task + "\"]}"))
        .contains("\"matched\":0");
    assertThat(send(a, "GET", "/v1/tasks/" + task, "")).contains("\"version\":1,");
  }

  @Test
  void another_tenants_claim_is_stale_and_its_cursor_invalid() {
    String a = api.key("c-corp", "owner");
    String b = api.key("d-corp", "owner");
    for (int i = 0; i < 2; i++) {
      api.request("POST", "/v1/tasks").as(a).json("{\"type\":\"t\"}").send().expect(202);
    }
    TestApi.Reply claim =
        api.request("POST", "/v1/work/claim")
            .as(a)
            .json("{\"types\":[\"t\"],\"wait\":\"5s\"}")
            .send()
            .expect(200);
    var task = claim.json().get("tasks").get(0);
    String report =
        "{\"results\":[{\"id\":\"%s\",\"token\":\"%s\",\"outcome\":\"completed\"}]}"
            .formatted(task.get("id").asString(), task.get("token").asString());
    String cursor = api.request("GET", "/v1/tasks?limit=1").as(a).send().text("nextCursor");

    assertThat(send(b, "POST", "/v1/work/report", report)).contains("\"stale\"");
    assertThat(send(b, "GET", "/v1/tasks?limit=1&cursor=" + cursor, "")).contains("invalid_cursor");
    assertThat(send(a, "POST", "/v1/work/report", report)).contains("\"accepted\"");
  }

  private static String send(String key, String method, String path, String body) {
    TestApi.Request request = api.request(method, path).as(key);
    TestApi.Reply reply = (body.isEmpty() ? request : request.json(body)).send();
    return reply.status() + " " + reply.body();
  }

  @Test
  void only_admins_can_select_a_tenant() {
    String owner = api.key("e-corp", "owner");
    String admin = api.key("f-corp", "admin");

    api.request("GET", "/v1/tasks")
        .as(owner)
        .header("Carillon-Tenant", "e-corp")
        .send()
        .expect(200);
    api.request("GET", "/v1/tasks")
        .as(owner)
        .header("Carillon-Tenant", "f-corp")
        .send()
        .expect(ErrorCode.TENANT_NOT_ALLOWED);
    api.request("GET", "/v1/tasks")
        .as(owner)
        .header("Carillon-Tenant", "no-such")
        .send()
        .expect(ErrorCode.TENANT_NOT_ALLOWED);
    api.request("GET", "/v1/tasks")
        .as(admin)
        .header("Carillon-Tenant", "e-corp")
        .send()
        .expect(200);
    api.get("/v1/tasks").header("Carillon-Tenant", "no-such").send().expect(ErrorCode.NOT_FOUND);
    api.get("/v1/tasks").header("Carillon-Tenant", "../x").send().expect(ErrorCode.NOT_FOUND);
    api.request("GET", "/v1/tasks").as(owner).header("X-Tenant-Id", "default").send().expect(200);
    assertThat(api.get("/v1/tenants").send().expect(200).body())
        .contains("e-corp")
        .contains("default");
  }

  @Test
  void a_role_gets_403_for_every_call_without_its_permission() {
    Map<String, Permission> calls =
        new HashMap<>(
            Map.of(
                "POST /v1/tasks", Permission.TASKS_CREATE,
                "GET /v1/tasks", Permission.TASKS_READ,
                "POST /v1/tasks/cancel", Permission.TASKS_CANCEL,
                "POST /v1/dead-letters/redrive", Permission.TASKS_OPERATE,
                "GET /v1/types", Permission.TYPES_READ,
                "PUT /v1/types/t", Permission.TYPES_CONFIGURE,
                "POST /v1/work/claim", Permission.WORK,
                "GET /v1/keys", Permission.KEYS,
                "GET /v1/tenants", Permission.TENANTS,
                "GET /v1/limits", Permission.ANY));
    calls.put("POST /v1/tasks/run", Permission.TASKS_OPERATE);
    calls.put("GET /v1/cluster", Permission.CLUSTER);
    calls.put("GET /v1/cluster/storage", Permission.CLUSTER);
    calls.put("GET /v1/me", Permission.ANY);
    calls.put("GET /v1/audit", Permission.AUDIT);
    calls.put("GET /v1/schedules", Permission.SCHEDULES_READ);
    calls.put("GET /v1/schedules/n", Permission.SCHEDULES_READ);
    calls.put("GET /v1/schedules/n/fires", Permission.SCHEDULES_READ);
    calls.put("POST /v1/schedules/preview", Permission.SCHEDULES_READ);
    calls.put("PUT /v1/schedules/n", Permission.SCHEDULES_CONFIGURE);
    calls.put("DELETE /v1/schedules/n", Permission.SCHEDULES_CONFIGURE);
    calls.put("POST /v1/schedules/n/pause", Permission.SCHEDULES_CONFIGURE);
    calls.put("POST /v1/schedules/n/resume", Permission.SCHEDULES_CONFIGURE);
    calls.put("POST /v1/schedules/n/trigger", Permission.SCHEDULES_CONFIGURE);
    calls.put("POST /v1/schedules/n/backfill", Permission.SCHEDULES_CONFIGURE);
    calls.put("GET /v1/schedules/n/backfills", Permission.SCHEDULES_READ);
    calls.put("GET /v1/schedules/n/backfills/" + UNKNOWN_ID, Permission.SCHEDULES_READ);
    calls.put(
        "POST /v1/schedules/n/backfills/" + UNKNOWN_ID + "/stop", Permission.SCHEDULES_CONFIGURE);
    calls.put("GET /v1/dead-letters", Permission.TASKS_READ);
    calls.put("GET /v1/dead-letters/groups", Permission.TASKS_READ);
    calls.put("POST /v1/dead-letters/purge", Permission.TASKS_OPERATE);
    calls.put("POST /v1/dead-letters/restore", Permission.ARCHIVES);
    calls.put("GET /v1/redrives", Permission.TASKS_READ);
    calls.put("GET /v1/redrives/" + UNKNOWN_ID, Permission.TASKS_READ);
    calls.put("POST /v1/redrives/" + UNKNOWN_ID + "/stop", Permission.TASKS_OPERATE);
    calls.put("POST /v1/redrives/" + UNKNOWN_ID + "/undo", Permission.TASKS_OPERATE);
    for (Role role : Role.values()) {
      String key = api.key("roles", role.label());
      calls.forEach(
          (call, permission) -> {
            String[] parts = call.split(" ", -1);
            String response =
                send(key, parts[0], parts[1], parts[0].matches("GET|DELETE") ? "" : "{}");
            assertThat(response.startsWith("403"))
                .as(role + " " + call + " " + response)
                .isEqualTo(!role.may(permission));
          });
    }
  }

  @Test
  void a_key_limited_to_types_has_no_access_to_other_types() {
    String producer = api.key("g-corp", "producer", "mine");
    String worker = api.key("g-corp", "worker", "mine", "mine2");
    String owner = api.key("g-corp", "owner");
    String other =
        api.request("POST", "/v1/tasks")
            .as(owner)
            .json("{\"type\":\"theirs\"}")
            .send()
            .expect(202)
            .text("id");

    assertThat(send(producer, "POST", "/v1/tasks", "{\"type\":\"mine\"}")).startsWith("202");
    for (String response :
        List.of(
            send(producer, "POST", "/v1/tasks", "{\"type\":\"theirs\"}"),
            send(
                producer,
                "POST",
                "/v1/tasks/batch",
                "{\"tasks\":[{\"type\":\"mine\"},{\"type\":\"theirs\"}]}"),
            send(producer, "POST", "/v1/tasks/cancel", "{\"type\":\"theirs\"}"),
            send(producer, "GET", "/v1/tasks?type=theirs", ""),
            send(worker, "GET", "/v1/tasks", ""),
            send(producer, "GET", "/v1/dead-letters?type=theirs", ""),
            send(worker, "GET", "/v1/dead-letters", ""),
            send(producer, "GET", "/v1/dead-letters/groups?type=theirs", ""),
            send(worker, "GET", "/v1/dead-letters/groups", ""),
            send(producer, "GET", "/v1/redrives", ""),
            send(worker, "POST", "/v1/work/claim", "{\"types\":[\"mine\",\"theirs\"]}"))) {
      assertThat(response).startsWith("403").contains("missing_scope");
    }
    assertThat(send(producer, "GET", "/v1/tasks", "")).startsWith("200").doesNotContain(other);
    assertThat(send(producer, "GET", "/v1/tasks/" + other, "")).startsWith("404");
    assertThat(send(producer, "POST", "/v1/tasks/" + other + "/cancel", "")).startsWith("404");
    assertThat(send(producer, "GET", "/v1/types/theirs", "")).startsWith("404");
  }

  @Test
  void a_key_limited_to_types_sees_no_other_dead_letters() {
    DeadTasks.fill(api.world, 8, 4); // of the default tenant, two of each type
    String producer = api.key("default", "producer", "t1");

    for (String path : List.of("/v1/dead-letters", "/v1/dead-letters/groups")) {
      JsonNode items = api.request("GET", path).as(producer).send().expect(200).json().get("items");
      assertThat(items).isNotEmpty().allMatch(item -> item.get("type").asString().equals("t1"));
    }
  }

  @Test
  void a_key_is_shown_once_creates_no_stronger_key_and_can_be_revoked() {
    String owner = api.key("h-corp", "owner");

    assertThat(send(owner, "POST", "/v1/keys", "{\"name\":\"x\",\"role\":\"admin\"}"))
        .contains("role_too_strong");
    TestApi.Reply created =
        api.request("POST", "/v1/keys")
            .as(owner)
            .json("{\"name\":\"x\",\"role\":\"viewer\"}")
            .send()
            .expect(201);
    String key = created.text("key");
    assertThat(send(key, "GET", "/v1/tasks", "")).startsWith("200");
    assertThat(send(owner, "GET", "/v1/keys", ""))
        .contains(created.text("id"))
        .doesNotContain(key.substring(22));
    assertThat(api.world.value("SELECT string_agg(api_key::text, '') FROM carillon.api_key"))
        .doesNotContain(key.substring(22));

    assertThat(send(owner, "DELETE", "/v1/keys/" + created.text("id"), "")).startsWith("204");

    Awaitility.await()
        .atMost(Duration.ofSeconds(5))
        .untilAsserted(() -> assertThat(send(key, "GET", "/v1/tasks", "")).startsWith("401"));
    String other = api.key("i-corp", "owner");
    assertThat(send(other, "DELETE", "/v1/keys/" + created.text("id"), "")).startsWith("404");
  }

  @Test
  void rejections_never_repeat_secrets() {
    List<String> seen = new ArrayList<>();
    for (String path : Set.of("/v1/tasks?token=s3cr3t-marker", "/v1/types/s3cr3t%00marker")) {
      seen.add(send("carillon_s3cr3t-marker", "GET", path, ""));
    }
    assertThat(seen).noneMatch(response -> response.contains("s3cr3t"));
  }
}
