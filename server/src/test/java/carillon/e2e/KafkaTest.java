package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.KafkaBroker;
import carillon.testkit.KafkaReader;
import carillon.testkit.Postgres;
import carillon.testkit.SecureKafka;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** A real node that publishes tasks to a real Kafka broker, which is killed and restarted. */
class KafkaTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @RegisterExtension static final Servers servers = new Servers();
  @TempDir static Path directory;

  private static SecureKafka secure;
  private static KafkaBroker broker;
  private static Database database;
  private static ServerProcess server;
  private static Carillon carillon;

  @BeforeAll
  static void start() {
    secure = SecureKafka.in(directory);
    broker = KafkaBroker.start(directory, secure.brokerSettings());
    Db.Address address = Postgres.freshDatabase();
    database = new Database(address);
    server =
        servers.startOn(
            address,
            "--kafka",
            "main=" + broker.servers(),
            "--kafka",
            "secure=@" + secure.clientSettings());
    carillon = server.connect();
  }

  @AfterAll
  static void stop() {
    carillon.close();
    server.kill9(); // a normal stop would wait for the broker
    broker.close();
  }

  @Test
  void no_task_is_lost_when_the_broker_is_killed_while_publishing() {
    int count = 50_000;
    broker.createTopic("many", 3);
    type("many", Map.of("topic", "many", "cluster", "main", "complete", "onPublish"));
    for (int i = 0; i < count / 10_000; i++) {
      submit("many", 10_000);
    }

    await("some").atMost(TIMEOUT).until(() -> unfinished("many") < count - 2_000);
    broker.kill9();
    assertThat(unfinished("many")).as("killed in the middle").isPositive();
    assertOtherTenantsContinue();
    broker.restart();

    await("the end")
        .atMost(TIMEOUT)
        .pollInterval(Duration.ofMillis(200))
        .until(() -> unfinished("many") == 0);
    List<KafkaReader.Message> messages = new ArrayList<>();
    Set<UUID> ids = new HashSet<>();
    try (KafkaReader reader = new KafkaReader(broker, "many")) {
      await("every message")
          .atMost(TIMEOUT)
          .until(
              () -> {
                List<KafkaReader.Message> some = reader.read();
                messages.addAll(some);
                some.forEach(message -> ids.add(message.id()));
                return ids.size() == count;
              });
    }
    assertThat(database.count(OF_TYPE.formatted("many", "state = 'COMPLETED' AND attempt = 1")))
        .as("tasks completed at their first attempt despite the broker's death")
        .isEqualTo(count);
    assertThat(messages.stream().map(message -> message.id() + "/" + message.fence()))
        .as("a duplicate has a higher fence")
        .doesNotHaveDuplicates();
    System.out.printf(
        "kafka: %d messages for %d tasks with one kill of the broker%n", messages.size(), count);
  }

  /** Tasks of other targets must not wait while Kafka is down. */
  private static void assertOtherTenantsContinue() {
    carillon.put("/v1/tenants/other", Map.of());
    Carillon other = carillon.withTenant("other"); // not closed: it shares the client's connections
    String id =
        other
            .post("/v1/tasks", Map.of("type", "kept", "target", Map.of("discard", Map.of())))
            .get("id")
            .asString();
    await("the task of another tenant")
        .atMost(Duration.ofSeconds(5))
        .until(() -> status(other, id).equals("COMPLETED"));
  }

  @Test
  void a_published_task_stays_running_until_its_consumer_reports_the_outcome() {
    broker.createTopic("jobs", 1);
    type("jobs", Map.of("topic", "jobs", "cluster", "main"), "leaseTimeout", "2s");
    String id = create("jobs");

    try (KafkaReader reader = new KafkaReader(broker, "jobs")) {
      KafkaReader.Message first = reader.read(1).getFirst();
      assertThat(status(carillon, id)).isEqualTo("RUNNING");
      KafkaReader.Message second =
          reader.read(1).getFirst(); // published again after the lease expired

      assertThat(second.id()).isEqualTo(first.id()).hasToString(id);
      assertThat(second.fence()).isGreaterThan(first.fence());
      assertThat(report(first)).isEqualTo("stale");
      assertThat(report(second)).isEqualTo("accepted");
      assertThat(status(carillon, id)).isEqualTo("COMPLETED");
    }
  }

  @Test
  void a_task_without_a_topic_is_retried_and_ends_dead() {
    type(
        "lost",
        Map.of("topic", "nowhere", "cluster", "main", "complete", "onPublish"),
        "retry",
        Map.of("maxAttempts", 2, "backoff", "fixed", "base", "100ms", "jitter", "none"));

    String id = create("lost");

    await("death").atMost(TIMEOUT).until(() -> status(carillon, id).equals("DEAD"));
    JsonNode task = carillon.get("/v1/tasks/" + id);
    assertThat(task.get("attempt").asInt()).isEqualTo(2);
    assertThat(task.toString()).contains("unroutable").contains("no such topic");
  }

  @Test
  void a_consumer_group_at_the_depth_limit_stops_publishing_until_it_catches_up() {
    broker.createTopic("deep", 2);
    type(
        "deep",
        Map.of(
            "topic",
            "deep",
            "cluster",
            "main",
            "complete",
            "onPublish",
            "maxDepth",
            100,
            "group",
            "readers"));

    submit("deep", 250);

    await("the limit").atMost(TIMEOUT).until(() -> unfinished("deep") == 150);
    await("no change at the limit")
        .during(Duration.ofMillis(1_500))
        .atMost(Duration.ofSeconds(3))
        .until(() -> unfinished("deep") == 150);
    try (KafkaReader reader = new KafkaReader(broker, "deep")) {
      for (int seen = 0; seen < 250; ) {
        List<KafkaReader.Message> some = reader.read();
        seen += some.size();
        reader.commit();
      }
    }
    await("the end").atMost(TIMEOUT).until(() -> unfinished("deep") == 0);
  }

  @Test
  void a_node_publishes_to_a_cluster_with_tls_and_a_password() {
    broker.createTopic("sealed", 1);
    broker.createTopic("forbidden", 1);
    secure.forbid(broker, "forbidden");
    Map<String, Object> retry = Map.of("maxAttempts", 1);
    type("sealed", Map.of("topic", "sealed", "cluster", "secure", "complete", "onPublish"));
    type(
        "forbidden",
        Map.of("topic", "forbidden", "cluster", "secure", "complete", "onPublish"),
        "retry",
        retry);

    String sealed = create("sealed");
    String forbidden = create("forbidden");

    await("the message").atMost(TIMEOUT).until(() -> status(carillon, sealed).equals("COMPLETED"));
    await("the refusal").atMost(TIMEOUT).until(() -> status(carillon, forbidden).equals("DEAD"));
    assertThat(carillon.get("/v1/tasks/" + forbidden).toString()).contains("broker_refused");
  }

  private static void type(String name, Map<String, Object> target, Object... more) {
    Map<String, Object> settings = new HashMap<>(Map.of("target", Map.of("kafka", target)));
    for (int i = 0; i < more.length; i += 2) {
      settings.put((String) more[i], more[i + 1]);
    }
    carillon.put("/v1/types/" + name, settings);
  }

  private static String create(String type) {
    return carillon.post("/v1/tasks", Map.of("type", type)).get("id").asString();
  }

  private static void submit(String type, int count) {
    String line = "{\"type\":\"" + type + "\",\"payload\":{\"n\":1}}\n";
    carillon.postLines("/v1/tasks/batch", line.repeat(count).getBytes(StandardCharsets.UTF_8));
  }

  private static String report(KafkaReader.Message message) {
    Map<String, Object> result =
        Map.of(
            "id", message.id().toString(),
            "token", message.header("Carillon-Token"),
            "outcome", "completed");
    return carillon
        .post("/v1/work/report", Map.of("results", List.of(result)))
        .findValue("result")
        .asString();
  }

  private static String status(Carillon tenant, String id) {
    return tenant.get("/v1/tasks/" + id).get("status").asString();
  }

  private static long unfinished(String type) {
    return database.count(OF_TYPE.formatted(type, "state IN ('PENDING', 'RUNNING')"));
  }

  private static final String OF_TYPE =
      """
      SELECT count(*)
      FROM carillon.task t
      JOIN carillon.lane l ON l.id = t.lane
      WHERE l.type = '%s'
        AND t.%s
      """;
}
