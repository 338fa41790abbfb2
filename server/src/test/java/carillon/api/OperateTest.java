package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.api.admin.OperationsRoutes;
import carillon.api.error.ErrorCode;
import carillon.api.http.Endpoint;
import carillon.api.http.Permission;
import carillon.api.http.Role;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.store.ApiStore;
import carillon.store.db.Json;
import carillon.testkit.Postgres;
import java.sql.Connection;
import java.sql.Statement;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Health, metrics, pages, and the OpenAPI document, which must match the endpoints. */
class OperateTest {

  private static final JsonNode OPENAPI =
      Json.MAPPER.readTree(OperationsRoutes.read(OperationsRoutes.OPENAPI));

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
    ApiStore stores = api.world.store;
    return HttpApi.endpoints(
            TestApi.config(0, 1),
            stores,
            HttpApi.Shared.of(stores, 1, InstantSource.system()),
            new HttpTargetRules(AddressRules.PUBLIC_ONLY),
            Optional::empty,
            api.metrics,
            InstantSource.system())
        .all();
  }

  /** The node itself, or the target of its $ref. */
  private static JsonNode resolved(JsonNode node) {
    return node.has("$ref") ? OPENAPI.at(node.get("$ref").asString().substring(1)) : node;
  }

  @Test
  void every_reference_in_the_openapi_document_resolves() {
    for (JsonNode reference : OPENAPI.findValues("$ref")) {
      assertThat(OPENAPI.at(reference.asString().substring(1)).isMissingNode())
          .as(reference.asString())
          .isFalse();
    }
  }

  @Test
  void the_openapi_document_has_exactly_the_endpoints() {
    List<String> described = new ArrayList<>();
    OPENAPI
        .get("paths")
        .forEachEntry(
            (path, item) ->
                item.forEachEntry(
                    (method, _) -> described.add(method.toUpperCase(Locale.ROOT) + " " + path)));

    assertThat(described)
        .containsExactlyInAnyOrderElementsOf(
            endpoints().stream().map(each -> each.method() + " " + each.path()).toList());
  }

  @Test
  void the_openapi_document_has_the_parameters_and_roles_that_are_checked() {
    for (Endpoint endpoint : endpoints()) {
      JsonNode operation =
          OPENAPI.get("paths").get(endpoint.path()).get(endpoint.method().toLowerCase(Locale.ROOT));
      TreeSet<String> names = new TreeSet<>();
      if (operation.has("parameters")) {
        for (JsonNode each : operation.get("parameters")) {
          JsonNode parameter = resolved(each);
          if (parameter.get("in").asString().equals("query")) {
            names.add(parameter.get("name").asString().replace("NAME", ""));
          }
        }
      }
      assertThat(names).as(endpoint.toString()).isEqualTo(new TreeSet<>(endpoint.query()));
      if (endpoint.permission() != Permission.NONE) {
        List<String> roles = new ArrayList<>();
        operation.get("x-roles").forEach(role -> roles.add(role.asString()));
        assertThat(roles)
            .as(endpoint.toString())
            .containsExactlyElementsOf(
                Arrays.stream(Role.values())
                    .filter(role -> role.may(endpoint.permission()))
                    .map(Role::label)
                    .toList());
      }
    }
  }

  @Test
  void the_openapi_document_has_every_error_code() {
    List<String> described = new ArrayList<>();
    for (JsonNode code : OPENAPI.get("x-error-codes")) {
      described.add(
          code.get("code").asString()
              + " "
              + code.get("status").asInt()
              + " "
              + code.get("meaning").asString());
    }

    assertThat(described)
        .containsExactlyInAnyOrderElementsOf(
            Arrays.stream(ErrorCode.values())
                .map(e -> e.code() + " " + e.status() + " " + e.meaning())
                .toList());
  }

  @Test
  void pages_require_no_key_have_a_strict_policy_and_are_cached() {
    for (String path : List.of("/docs", "/openapi.json", "/ui/docs.js", "/ui/docs.css")) {
      TestApi.Reply page = api.request("GET", path).send().expect(200);
      String tag = String.valueOf(page.header("etag"));

      assertThat(page.header("content-security-policy")).startsWith("default-src 'self'");
      assertThat(page.header("x-content-type-options")).isEqualTo("nosniff");
      assertThat(page.body()).isNotEmpty();
      api.request("GET", path).header("If-None-Match", tag).send().expect(304);
    }
  }

  @Test
  void a_node_can_be_live_but_not_ready() {
    api.request("GET", "/health/live").send().expect(200);
    api.request("GET", "/health/ready").send().expect(200);
    api.notReady.set(Optional.of("draining"));
    try {
      TestApi.Reply reply =
          api.request("GET", "/health/ready").send().expect(ErrorCode.UNAVAILABLE);

      assertThat(reply.text("detail")).isEqualTo("draining");
      assertThat(reply.header("retry-after")).isEqualTo("1");
      api.request("GET", "/health/live").send().expect(200);
    } finally {
      api.notReady.set(Optional.empty());
    }
  }

  @Test
  void requests_are_counted_by_route_and_never_by_path() {
    api.get("/v1/tasks/0192f0c1-7d2a-7b3c-8d4e-5f6071829304").send().expect(404);
    api.get("/v1/some-secret-path").send().expect(404);

    String metrics = api.request("GET", "/metrics").send().expect(200).body();

    assertThat(metrics)
        .contains("carillon_api_requests_total{route=\"/v1/tasks/{id}\",status=\"404\"}");
    assertThat(metrics).contains("carillon_api_request_seconds_count{route=\"/v1/tasks/{id}\"}");
    assertThat(metrics).doesNotContain("some-secret-path").doesNotContain("0192f0c1");
  }

  @Test
  void the_limits_of_the_api_are_listed() {
    assertThat(api.get("/v1/limits").send().expect(200).json().get("payloadBytes").asInt())
        .isEqualTo(262_144);
  }

  @Test
  void a_request_that_waits_too_long_for_the_database_gets_503_with_retry_after() throws Exception {
    try (TestApi narrow = TestApi.start(1);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
        Connection connection = Postgres.connect(narrow.world.address);
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute("LOCK TABLE carillon.api_key IN ACCESS EXCLUSIVE MODE");
      Future<TestApi.Reply> first = threads.submit(() -> narrow.get("/v1/keys").send());
      Awaitility.await()
          .until(
              () ->
                  narrow
                      .world
                      .value("SELECT count(*) FROM pg_locks WHERE NOT granted")
                      .equals("1"));

      TestApi.Reply second = narrow.get("/v1/keys").send().expect(ErrorCode.OVERLOADED);
      connection.rollback();

      assertThat(second.header("retry-after")).isEqualTo("1");
      narrow.request("GET", "/health/live").send().expect(200);
      first.get().expect(200);
    }
  }

  @Test
  void a_request_without_a_database_gets_503_with_retry_after() {
    try (TestApi disconnected = TestApi.start()) {
      disconnected.world.db.close();

      TestApi.Reply reply = disconnected.get("/v1/tasks").send().expect(ErrorCode.UNAVAILABLE);

      assertThat(reply.header("retry-after")).isEqualTo("1");
      assertThat(reply.body()).doesNotContain("Exception").doesNotContain("jdbc");
    }
  }

  @Test
  void a_port_in_use_fails_the_start_with_a_one_line_error() {
    assertThatThrownBy(
            () ->
                HttpApi.start(
                    TestApi.config(api.port(), 1),
                    api.world.store,
                    new HttpTargetRules(AddressRules.PUBLIC_ONLY),
                    Optional::empty,
                    api.metrics,
                    InstantSource.system()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("cannot listen on 127.0.0.1:" + api.port())
        .hasMessageNotContaining("\n");
  }

  @Test
  void a_node_that_is_not_live_gives_the_reason() {
    api.notLive.set(Optional.of("loop claimer is stuck"));
    try {
      TestApi.Reply reply = api.request("GET", "/health/live").send().expect(ErrorCode.UNAVAILABLE);

      assertThat(reply.body()).contains("loop claimer is stuck");
    } finally {
      api.notLive.set(Optional.empty());
    }
    api.request("GET", "/health/live").send().expect(200);
  }

  @Test
  void head_gets_the_status_of_get_without_a_body() {
    TestApi.Reply reply = api.request("HEAD", "/health/live").send().expect(200);

    assertThat(reply.body()).isEmpty();
  }
}
