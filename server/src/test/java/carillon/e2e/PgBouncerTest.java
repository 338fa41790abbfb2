package carillon.e2e;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.DatabaseCheck;
import carillon.store.db.Db;
import carillon.testkit.PgBouncer;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** A node whose connections share four server sessions through a real PgBouncer. */
class PgBouncerTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final int SESSIONS = 4;

  @RegisterExtension final Servers servers = new Servers();
  @TempDir Path directory;

  private @Nullable ServerProcess node;

  @Test
  void the_error_without_the_pooler_option_names_the_option() {
    Db.Address server = Postgres.emptyDatabase();
    try (PgBouncer pooler = PgBouncer.start(directory, server, 1)) {
      Db.Address withoutOption =
          new Db.Address(pooler.address().url(), server.user(), server.password());

      assertThat(DatabaseCheck.refusal(withoutOption).orElse(""))
          .contains("unsupported startup parameter: options", "--pooler transaction")
          .doesNotContain("\n");
    }
  }

  @Test
  void migrations_and_all_features_work_in_transaction_mode() {
    Db.Address server = Postgres.emptyDatabase();
    try (PgBouncer pooler = PgBouncer.start(directory, server, SESSIONS);
        Receiver receiver = Receiver.start();
        Carillon api = startOn(pooler)) {
      receiver.respondWith(
          delivery -> delivery.path().equals("/fails-once") && delivery.attempt() == 1 ? 500 : 200);
      api.put("/v1/schedules/tick", Map.of("type", "tick", "every", "1s", "target", discard()));
      String sent = create(api, http(receiver, "/"));
      String retried = create(api, http(receiver, "/fails-once"));
      String later = create(api, Map.of("type", "later", "delay", "1h", "target", discard()));
      String pulled = create(api, Map.of("type", "pulled", "target", Map.of("pull", Map.of())));
      List<Map<String, Object>> many =
          IntStream.range(0, 2_000)
              .mapToObj(n -> Map.<String, Object>of("type", "many", "target", discard()))
              .toList();
      api.post("/v1/tasks/batch", Map.of("tasks", many));

      assertThat(api.post("/v1/tasks/" + later + "/cancel", null).path("status").asString())
          .isEqualTo("CANCELLED");
      assertThat(work(api, pulled)).isEqualTo("accepted");
      Database database = new Database(server);
      await()
          .atMost(TIMEOUT)
          .until(
              () ->
                  status(api, sent).equals("COMPLETED")
                      && status(api, retried).equals("COMPLETED")
                      && completed(database, "many") == many.size()
                      && completed(database, "tick") >= 2);
      assertThat(receiver.byTask().get(retried)).hasSize(2);
      assertThat(
              database.count(
                  "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'carillon/%'"
                      + " AND datname = current_database()")) // other tests share the server
          .as("server sessions")
          .isBetween(1L, (long) SESSIONS);
      assertThat(requireNonNull(node).stop()).isZero();
    }
  }

  private Carillon startOn(PgBouncer pooler) {
    node = servers.startOn(pooler.address(), "--pooler", "transaction");
    return node.connect();
  }

  private static Map<String, Object> discard() {
    return Map.of("discard", Map.of());
  }

  private static Map<String, Object> http(Receiver receiver, String path) {
    return Map.of(
        "type",
        "sent",
        "target",
        Map.of("http", Map.of("url", receiver.url(path))),
        "retry",
        Map.of("base", "100ms", "backoff", "fixed"));
  }

  private static String create(Carillon api, Map<String, Object> task) {
    return api.post("/v1/tasks", task).path("id").asString();
  }

  private static String status(Carillon api, String task) {
    return api.get("/v1/tasks/" + task).path("status").asString();
  }

  private static long completed(Database database, String type) {
    return database.count(
        """
        SELECT count(*)
        FROM carillon.task t
        JOIN carillon.lane l ON l.id = t.lane
        WHERE t.state = 'COMPLETED'
          AND l.type = '%s'
        """
            .formatted(type));
  }

  /** Claims the task as a worker, renews its lease and reports it. */
  private static String work(Carillon api, String task) {
    JsonNode claimed =
        api.post(
                "/v1/work/claim",
                Map.of("types", List.of("pulled"), "max", 1, "wait", "20s", "worker", "w"))
            .path("tasks")
            .path(0);
    assertThat(claimed.path("id").asString()).isEqualTo(task);
    Map<String, String> lease = Map.of("id", task, "token", claimed.path("token").asString());
    assertThat(
            api.post("/v1/work/renew", Map.of("leases", List.of(lease), "lease", "30s")).toString())
        .contains("renewed");
    return api.post(
            "/v1/work/report",
            Map.of(
                "results",
                List.of(
                    Map.of(
                        "id",
                        task,
                        "token",
                        claimed.path("token").asString(),
                        "outcome",
                        "completed"))))
        .path("results")
        .path(0)
        .path("result")
        .asString();
  }
}
