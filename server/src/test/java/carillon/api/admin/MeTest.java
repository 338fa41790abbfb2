package carillon.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.http.Permission;
import java.time.LocalDate;
import java.time.ZoneOffset;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** {@code GET /v1/me} and {@code GET /v1/cluster/storage}. */
class MeTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
    api.put("/v1/tenants/acme").json("{}").send().expect(200);
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @Test
  void the_bootstrap_admin_key_has_no_id_and_all_permissions_on_any_tenant() {
    JsonNode me = api.get("/v1/me").header("Carillon-Tenant", "acme").send().expect(200).json();

    assertThat(me.propertyNames())
        .containsExactly("tenant", "role", "key", "name", "types", "permissions", "version");
    assertThat(me.get("tenant").asString()).isEqualTo("acme");
    assertThat(me.get("role").asString()).isEqualTo("admin");
    assertThat(me.get("key").isNull()).isTrue();
    assertThat(me.get("permissions"))
        .hasSize(Permission.values().length - 2)
        .noneMatch(each -> each.asString().equals("NONE") || each.asString().equals("ANY"));
  }

  @Test
  void a_key_sees_its_name_types_and_permissions() {
    TestApi.Reply created =
        api.post("/v1/keys")
            .json("{\"name\":\"<b>w</b>\",\"role\":\"worker\",\"types\":[\"a\",\"b\"]}")
            .send()
            .expect(201);

    String me = api.request("GET", "/v1/me").as(created.text("key")).send().expect(200).body();

    assertThat(me)
        .isEqualTo(
            """
            {"tenant":"default","role":"worker","key":"%s","name":"<b>w</b>","types":["a","b"],\
            "permissions":["TASKS_READ","TYPES_READ","SCHEDULES_READ","WORK"],"version":"test"}\
            """
                .formatted(created.text("id")));
  }

  @Test
  void storage_is_listed_by_day_and_read_at_most_every_ten_seconds() {
    String day = LocalDate.now(ZoneOffset.UTC).plusDays(3).toString();
    api.task("{\"type\":\"x\",\"dueAt\":\"" + day + "T05:06:07Z\"}");

    JsonNode storage = api.get("/v1/cluster/storage").send().expect(200).json();

    assertThat(storage.propertyNames())
        .containsExactly("at", "oldestSnapshot", "deadRows", "bytes", "partitions", "tables");
    JsonNode partition =
        storage
            .get("partitions")
            .valueStream()
            .filter(each -> each.get("day").asString().equals(day))
            .findFirst()
            .orElseThrow();
    assertThat(partition.propertyNames())
        .containsExactly("day", "bytes", "rows", "deadRows", "lastVacuumAt");
    assertThat(partition.get("bytes").asLong()).isPositive();
    assertThat(storage.get("bytes").asLong()).isGreaterThan(partition.get("bytes").asLong());
    assertThat(storage.get("tables"))
        .anyMatch(table -> table.get("name").asString().equals("tenant"))
        .noneMatch(table -> table.get("name").asString().startsWith("task_2"));
    assertThat(api.get("/v1/cluster/storage").send().expect(200).text("at"))
        .isEqualTo(storage.get("at").asString());
  }
}
