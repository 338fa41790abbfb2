package carillon.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.store.cluster.ClusterReader;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** {@code GET /v1/cluster}. */
class ClusterApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @BeforeEach
  void empty() {
    api.world.sql("DELETE FROM carillon.node");
    api.world.sql("UPDATE carillon.shard SET node = NULL, moved_at = NULL");
    api.world.sql(
        "UPDATE carillon.leadership SET term = 0, node = NULL, lease_until = '-infinity'");
  }

  private static JsonNode cluster() {
    return api.get("/v1/cluster").send().expect(200).json();
  }

  /**
   * @param lease an interval from now
   */
  private static void node(String id, String lease, String more) {
    api.world.sql(
        """
        INSERT INTO carillon.node (id, label, roles, version, started_at, renewed_at, lease_until)
        VALUES ('%s', 'n', '{api,engine}', '1.0', '2027-01-01T00:00:00Z', '2027-01-01T00:00:01.5Z',
                clock_timestamp() + interval '%s')
        """
            .formatted(id, lease));
    if (!more.isEmpty()) {
      api.world.sql("UPDATE carillon.node SET %s WHERE id = '%s'".formatted(more, id));
    }
  }

  @Test
  void a_cluster_without_nodes_is_shown() {
    JsonNode cluster = cluster();

    assertThat(cluster.propertyNames())
        .containsExactly(
            "at", "leader", "nodes", "shards", "lag", "suspects", "database", "listener");
    assertThat(cluster.get("leader").isNull()).isTrue();
    assertThat(cluster.get("nodes")).isEmpty();
    assertThat(cluster.get("shards"))
        .hasToString("{\"total\":64,\"unassigned\":64,\"lastMovedAt\":null}");
    assertThat(cluster.get("lag").asString()).isEqualTo("PT0S");
  }

  @Test
  void a_node_is_shown_as_of_its_last_heartbeat() {
    node(
        "a-1",
        "10 s",
        "address = 'http://h:1', clock_offset_us = -2500, in_flight = 3, seats = 512,"
            + " lag_ms = 1200, claimed = 5000000000, ended = 4999999997,"
            + " suspects_waiting = 40, suspects_running = 23");
    api.world.sql("UPDATE carillon.shard SET node = 'a-1' WHERE id IN (3, 0)");

    JsonNode node = cluster().get("nodes").get(0);

    String leaseUntil = node.get("leaseUntil").asString();
    assertThat(node.toString().replace(leaseUntil, "L"))
        .isEqualTo(
            """
            {"id":"a-1","name":"n","roles":["api","engine"],"address":"http://h:1","version":"1.0",\
            "status":"ALIVE","startedAt":"2027-01-01T00:00:00.000Z","renewedAt":"2027-01-01T00:00:01.500Z",\
            "leaseUntil":"L","clockOffset":"-PT0.0025S","inFlight":3,"seats":512,"lag":"PT1.2S",\
            "suspects":{"waiting":40,"running":23},"shards":[0,3],"claimed":5000000000,"ended":4999999997}\
            """);
  }

  @Test
  void current_nodes_come_first_and_the_lag_is_the_largest_of_theirs() {
    node("gone", "-1 s", "ending = 'LEFT', lag_ms = 9000");
    node("cut", "-1 s", "ending = 'CUT_OFF'");
    node("silent", "-1 s", "lag_ms = 8000, suspects_waiting = 9");
    node("stopping", "10 s", "draining = true, lag_ms = 700, suspects_running = 2");
    node("working", "10 s", "lag_ms = 20, suspects_waiting = 5, suspects_running = 1");

    JsonNode cluster = cluster();

    assertThat(cluster.get("nodes").valueStream().map(n -> n.get("id") + "=" + n.get("status")))
        .containsExactly(
            "\"stopping\"=\"DRAINING\"",
            "\"working\"=\"ALIVE\"",
            "\"cut\"=\"LEFT\"",
            "\"gone\"=\"LEFT\"",
            "\"silent\"=\"SILENT\"");
    assertThat(cluster.get("lag").asString()).isEqualTo("PT0.7S");
    assertThat(cluster.get("suspects")).hasToString("{\"waiting\":5,\"running\":3}");
  }

  @Test
  void the_leader_is_shown_while_its_lease_lasts() {
    api.world.sql(
        "UPDATE carillon.leadership SET term = 7, node = 'a-1', since = '2027-01-01T00:00:00Z',"
            + " lease_until = clock_timestamp() + interval '5 s'");

    JsonNode leader = cluster().get("leader");

    assertThat(leader.get("node").asString()).isEqualTo("a-1");
    assertThat(leader.get("term").asLong()).isEqualTo(7);
    assertThat(leader.get("since").asString()).isEqualTo("2027-01-01T00:00:00.000Z");
    assertThat(leader.get("leaseUntil").asString()).endsWith("Z");
    api.world.sql("UPDATE carillon.leadership SET lease_until = clock_timestamp()");
    assertThat(cluster().get("leader").isNull()).isTrue();
  }

  @Test
  void shards_show_how_many_are_unassigned_and_when_one_last_moved() {
    api.world.node("a");
    api.world.sql(
        "UPDATE carillon.shard SET node = 'a', moved_at = '2027-01-01T00:00:00Z' WHERE id < 60");

    assertThat(cluster().get("shards"))
        .hasToString(
            "{\"total\":64,\"unassigned\":4,\"lastMovedAt\":\"2027-01-01T00:00:00.000Z\"}");

    api.world.store.nodes().leave("a");
    assertThat(cluster().at("/shards/unassigned").asInt())
        .as("shards of nodes that have left")
        .isEqualTo(64);
  }

  @Test
  void the_database_hides_other_sessions_from_an_ordinary_role() {
    JsonNode database = cluster().get("database");

    assertThat(database.get("version").asString()).matches("[1-9][0-9].*");
    assertThat(database.get("timeline").asInt()).isEqualTo(1);
    assertThat(database.get("oldestTransaction").isNull()).isTrue();
    assertThat(database.get("standbys").isArray()).isTrue();
  }

  @Test
  void a_role_that_can_see_other_sessions_sees_the_oldest_transaction() throws SQLException {
    String role = "monitor_" + api.world.address.url().replaceAll(".*/", "");
    api.world.sqlAsSuperuser("CREATE ROLE " + role + " LOGIN PASSWORD 'p'");
    api.world.sqlAsSuperuser("GRANT pg_read_all_stats TO " + role);
    api.world.sql("GRANT USAGE ON SCHEMA carillon TO " + role);
    api.world.sql("GRANT SELECT ON ALL TABLES IN SCHEMA carillon TO " + role);
    node("a-1", "10 s", "");
    try (Connection holder = Postgres.connect(api.world.address);
        Statement statement = holder.createStatement();
        Db db = Db.open(new Db.Address(api.world.address.url(), role, "p"), "monitor", 1)) {
      holder.setAutoCommit(false);
      statement.execute("SELECT 1");
      statement.execute("SELECT 2");

      ClusterReader.Cluster seen = new ClusterReader(db).read();

      assertThat(seen.database().oldestTransaction()).isPositive();
      assertThat(seen.database().standbys()).isEmpty();
      assertThat(seen.database().timeline()).isEqualTo(1);
      assertThat(seen.nodes()).hasSize(1);
    } finally {
      api.world.sqlAsSuperuser("DROP OWNED BY " + role);
      api.world.sqlAsSuperuser("DROP ROLE " + role);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"view=full", "limit=1", "cursor=", "node=a", "x"})
  void query_parameters_are_rejected(String query) {
    api.get("/v1/cluster?" + query).send().expect(ErrorCode.UNSUPPORTED_FILTER);
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "PATCH", "DELETE"})
  void the_cluster_is_read_only(String method) {
    api.request(method, "/v1/cluster")
        .as(TestApi.ADMIN_KEY)
        .send()
        .expect(ErrorCode.METHOD_NOT_ALLOWED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"owner", "operator", "producer", "worker", "viewer"})
  void the_cluster_is_visible_to_admins_only(String role) {
    node("secret-name", "10 s", "");

    TestApi.Reply reply =
        api.request("GET", "/v1/cluster").as(api.key("some", role)).send().expect(403);

    assertThat(reply.body()).doesNotContain("secret-name");
    api.request("GET", "/v1/cluster").send().expect(401);
    api.request("GET", "/v1/cluster").as(api.key("some", "admin")).send().expect(200);
  }
}
