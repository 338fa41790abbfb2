package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.error.ErrorCode;
import carillon.api.http.Endpoint;
import carillon.api.http.Health;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.store.ApiStore;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** The access of keys to endpoints, to other keys and to stored responses. */
class RightsTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static List<Endpoint> endpoints() {
    Health health =
        new Health() {
          @Override
          public Optional<String> notReady() {
            return Optional.empty();
          }

          @Override
          public Optional<String> notLive() {
            return Optional.empty();
          }
        };
    ApiStore stores = api.world.store;
    return HttpApi.endpoints(
            TestApi.config(0, 8),
            stores,
            HttpApi.Shared.of(stores, 8, InstantSource.system()),
            new HttpTargetRules(AddressRules.PUBLIC_ONLY),
            health,
            api.metrics,
            InstantSource.system())
        .all();
  }

  /**
   * Builds a request with an unknown parameter, which is rejected right after the permission check,
   * so that the request has no effect.
   */
  private static TestApi.Request probe(Endpoint endpoint) {
    String path = endpoint.path().replaceAll("\\{[^}]*}", "x");
    return api.request(endpoint.method(), path + "?there-is-no-such-parameter=1");
  }

  @Test
  void every_endpoint_rejects_roles_without_its_permission() {
    List<String> wrong = new ArrayList<>();
    List<Endpoint> endpoints = endpoints();
    for (Role role : Role.values()) {
      String key = api.key("matrix", role.label());
      for (Endpoint each : endpoints) {
        int expected = role.may(each.permission()) ? 400 : 403;
        int status = probe(each).as(key).send().status();
        if (status != expected) {
          wrong.add(role + " " + each.method() + " " + each.path() + ": " + status);
        }
      }
    }
    for (Endpoint each : endpoints) {
      int expected = each.permission() == Permission.NONE ? 400 : 401;
      if (probe(each).send().status() != expected) {
        wrong.add("no key " + each.method() + " " + each.path());
      }
    }

    assertThat(endpoints).hasSizeGreaterThan(60);
    assertThat(wrong).isEmpty();
  }

  /** Deliberately repeats all permissions, so that each new endpoint must be confirmed here. */
  @Test
  void every_endpoint_requires_exactly_this_permission() {
    assertThat(
            endpoints().stream()
                .map(each -> each.method() + " " + each.path() + " " + each.permission())
                .sorted())
        .containsExactlyElementsOf(PERMISSIONS.lines().sorted().toList());
  }

  private static final String PERMISSIONS =
      """
      DELETE /v1/keys/{id} KEYS
      DELETE /v1/schedules/{name} SCHEDULES_CONFIGURE
      DELETE /v1/types/{name} TYPES_CONFIGURE
      GET / NONE
      GET /docs NONE
      GET /health/live NONE
      GET /health/ready NONE
      GET /metrics NONE
      GET /openapi.json NONE
      GET /ui/docs.css NONE
      GET /ui/docs.js NONE
      GET /ui/lib/{library}/{directory}/{file} NONE
      GET /ui/lib/{library}/{file} NONE
      GET /ui/{directory}/{file} NONE
      GET /ui/{file} NONE
      GET /v1/audit AUDIT
      GET /v1/cluster CLUSTER
      GET /v1/cluster/storage CLUSTER
      GET /v1/dead-letters TASKS_READ
      GET /v1/dead-letters/groups TASKS_READ
      GET /v1/events TASKS_READ
      GET /v1/keys KEYS
      GET /v1/limits ANY
      GET /v1/me ANY
      GET /v1/redrives TASKS_READ
      GET /v1/redrives/{id} TASKS_READ
      GET /v1/schedules SCHEDULES_READ
      GET /v1/schedules/{name} SCHEDULES_READ
      GET /v1/schedules/{name}/backfills SCHEDULES_READ
      GET /v1/schedules/{name}/backfills/{id} SCHEDULES_READ
      GET /v1/schedules/{name}/fires SCHEDULES_READ
      GET /v1/stats TASKS_READ
      GET /v1/stats/series TASKS_READ
      GET /v1/stats/tenants CLUSTER
      GET /v1/tasks TASKS_READ
      GET /v1/tasks/{id} TASKS_READ
      GET /v1/tasks/{id}/attempts TASKS_READ
      GET /v1/tasks/{id}/transitions TASKS_READ
      GET /v1/tenants TENANTS
      GET /v1/tenants/{name} TENANTS
      GET /v1/types TYPES_READ
      GET /v1/types/{name} TYPES_READ
      GET /v1/types/{name}/stats TYPES_READ
      PATCH /v1/tasks/{id} TASKS_OPERATE
      POST /v1/dead-letters/purge TASKS_OPERATE
      POST /v1/dead-letters/redrive TASKS_OPERATE
      POST /v1/dead-letters/restore ARCHIVES
      POST /v1/keys KEYS
      POST /v1/redrives/{id}/stop TASKS_OPERATE
      POST /v1/redrives/{id}/undo TASKS_OPERATE
      POST /v1/schedules/preview SCHEDULES_READ
      POST /v1/schedules/{name}/backfill SCHEDULES_CONFIGURE
      POST /v1/schedules/{name}/backfills/{id}/stop SCHEDULES_CONFIGURE
      POST /v1/schedules/{name}/pause SCHEDULES_CONFIGURE
      POST /v1/schedules/{name}/resume SCHEDULES_CONFIGURE
      POST /v1/schedules/{name}/trigger SCHEDULES_CONFIGURE
      POST /v1/tasks TASKS_CREATE
      POST /v1/tasks/batch TASKS_CREATE
      POST /v1/tasks/cancel TASKS_CANCEL
      POST /v1/tasks/run TASKS_OPERATE
      POST /v1/tasks/{id}/cancel TASKS_CANCEL
      POST /v1/tasks/{id}/redrive TASKS_OPERATE
      POST /v1/tasks/{id}/run TASKS_OPERATE
      POST /v1/types/{name}/pause TYPES_CONFIGURE
      POST /v1/types/{name}/resume TYPES_CONFIGURE
      POST /v1/work/claim WORK
      POST /v1/work/hang-up WORK
      POST /v1/work/renew WORK
      POST /v1/work/report WORK
      PUT /v1/schedules/{name} SCHEDULES_CONFIGURE
      PUT /v1/tenants/{name} TENANTS
      PUT /v1/types/{name} TYPES_CONFIGURE
      """;

  private static JsonNode createKey(String key, String role) {
    return api.request("POST", "/v1/keys")
        .as(key)
        .json("{\"name\": \"n\", \"role\": \"%s\"}".formatted(role))
        .send()
        .expect(201)
        .json();
  }

  @Test
  void an_owner_can_neither_see_nor_revoke_the_key_of_an_admin() {
    String owner = api.key("owned", "owner");
    String admin = api.key("owned", "admin");
    JsonNode created = createKey(admin, "admin");
    String id = created.get("id").asString();
    String adminKey = created.get("key").asString();

    assertThat(api.request("GET", "/v1/keys").as(owner).send().expect(200).body())
        .doesNotContain("\"admin\"")
        .contains("\"owner\"");
    api.request("DELETE", "/v1/keys/" + id).as(owner).send().expect(ErrorCode.NOT_FOUND);
    api.request("GET", "/v1/me").as(adminKey).send().expect(200);
    assertThat(api.request("GET", "/v1/keys").as(admin).send().body()).contains(id);

    api.request("DELETE", "/v1/keys/" + id).as(admin).send().expect(204);

    api.request("DELETE", "/v1/keys/" + id).as(owner).send().expect(ErrorCode.NOT_FOUND);
    api.request("GET", "/v1/me").as(admin).send().expect(200);
    assertThat(
            api.world.value(
                "SELECT count(*) FROM carillon.audit WHERE action = 'key.revoke' AND subject = '"
                    + id
                    + "'"))
        .isEqualTo("1");
    JsonNode other = createKey(owner, "owner");
    api.request("DELETE", "/v1/keys/" + other.get("id").asString()).as(owner).send().expect(204);
  }

  /** The subjects of all audit entries about keys, from all pages. */
  private static List<String> audited(String key) {
    List<String> subjects = new ArrayList<>();
    String cursor = "";
    do {
      JsonNode page =
          api.request("GET", "/v1/audit?limit=2" + cursor).as(key).send().expect(200).json();
      for (JsonNode record : page.get("items")) {
        if (record.get("action").asString().startsWith("key.")) {
          subjects.add(record.get("subject").asString());
        }
      }
      JsonNode next = page.get("nextCursor");
      cursor = next.isNull() ? "" : "&cursor=" + next.asString();
    } while (!cursor.isEmpty());
    return subjects;
  }

  @Test
  void only_admins_see_audit_entries_about_admin_keys() {
    String owner = api.key("audited", "owner");
    String viewer = api.key("audited", "viewer");
    String admin = api.key("audited", "admin");
    List<String> ofOthers = new ArrayList<>();
    List<String> ofAdmins = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      ofOthers.add(createKey(owner, "producer").get("id").asString());
      ofAdmins.add(createKey(admin, "admin").get("id").asString());
    }
    api.request("DELETE", "/v1/keys/" + ofAdmins.getFirst()).as(admin).send().expect(204);

    for (String key : List.of(owner, viewer)) {
      assertThat(audited(key)).containsAll(ofOthers).doesNotContainAnyElementsOf(ofAdmins);
      assertThat(
              api.request("GET", "/v1/audit?subject=" + ofAdmins.getFirst())
                  .as(key)
                  .send()
                  .expect(200)
                  .json()
                  .get("items"))
          .isEmpty();
    }
    assertThat(audited(admin)).containsAll(ofOthers).containsAll(ofAdmins);
  }

  @Test
  void pages_of_keys_have_no_gaps_in_place_of_hidden_admin_keys() {
    String owner = api.key("paged", "owner");
    for (int i = 0; i < 6; i++) {
      api.key("paged", i % 2 == 0 ? "admin" : "viewer");
    }

    List<String> roles = new ArrayList<>();
    String cursor = "";
    do {
      JsonNode page =
          api.request("GET", "/v1/keys?limit=1" + cursor).as(owner).send().expect(200).json();
      page.get("items").forEach(item -> roles.add(item.get("role").asString()));
      JsonNode next = page.get("nextCursor");
      cursor = next.isNull() ? "" : "&cursor=" + next.asString();
    } while (!cursor.isEmpty());

    assertThat(roles).containsExactlyInAnyOrder("owner", "viewer", "viewer", "viewer");
  }

  private static TestApi.Reply post(String key, String path, String idempotencyKey, String body) {
    return api.request("POST", path)
        .as(key)
        .header("Idempotency-Key", idempotencyKey)
        .json(body)
        .send();
  }

  @Test
  void a_stored_response_is_returned_only_to_keys_with_the_same_types() {
    String owner = api.key("kept", "owner");
    String limited = api.key("kept", "producer", "mine");
    String task = "{\"type\":\"theirs\",\"payload\":\"confidential\"}";
    String tasks = "{\"tasks\":[" + task + "]}";

    for (String[] call :
        List.of(
            new String[] {"/v1/tasks", task},
            new String[] {"/v1/tasks/batch", tasks},
            new String[] {"/v1/tasks/cancel", "{\"type\":\"theirs\",\"key\":\"k\"}"})) {
      String first = post(owner, call[0], call[0], call[1]).expect2xx();
      TestApi.Reply others = post(limited, call[0], call[0], call[1]);

      assertThat(others.status()).as(call[0]).isIn(403, 422);
      assertThat(others.body()).doesNotContain("confidential", "ids");
      assertThat(post(owner, call[0], call[0], call[1]).body()).isEqualTo(first);
    }
  }

  @Test
  void a_rotated_key_still_gets_the_stored_response() {
    String before = api.key("rotated", "producer", "b", "a");
    String after = api.key("rotated", "producer", "a", "b");
    String body = "{\"type\":\"a\"}";
    String first = post(before, "/v1/tasks", "r1", body).expect2xx();

    assertThat(post(after, "/v1/tasks", "r1", body).expect2xx()).isEqualTo(first);

    String all = post(api.key("rotated", "owner"), "/v1/tasks", "r2", body).expect2xx();
    assertThat(post(api.key("rotated", "owner"), "/v1/tasks", "r2", body).expect2xx())
        .isEqualTo(all);
  }
}
