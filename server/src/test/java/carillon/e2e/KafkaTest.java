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

/** Tasks on their way through a real node to a real Kafka, which dies and comes back. */
class KafkaTest {

  private static final Duration PATIENCE = Duration.ofSeconds(60);

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
    server.kill9(); // its stop would wait for the broker
    broker.close();
  }

  @Test
  void none_of_50_000_is_lost_when_the_broker_dies_in_the_middle() {
    int count = 50_000;
    broker.makeTopic("many", 3);
    type("many", Map.of("topic", "many", "cluster", "main", "complete", "onPublish"));
    for (int i = 0; i < count / 10_000; i++) {
      submit("many", 10_000);
    }

    await("some").atMost(PATIENCE).until(() -> unfinished("many") < count - 2_000);
    broker.kill9();
    assertThat(unfinished("many")).as("killed in the middle").isPositive();
    othersGoOn();
    broker.startAgain();

    await("the end")
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(200))
        .until(() -> unfinished("many") == 0);
    List<KafkaReader.Message> messages = new ArrayList<>();
    Set<UUID> ids = new HashSet<>();
    try (KafkaReader reader = new KafkaReader(broker, "many")) {
      await("every message")
          .atMost(PATIENCE)
          .until(
              () -> {
                List<KafkaReader.Message> some = reader.read();
                messages.addAll(some);
                some.forEach(message -> ids.add(message.id()));
                return ids.size() == count;
              });
    }
    assertThat(database.count(OF_TYPE.formatted("many", "state = 'COMPLETED' AND attempt = 1")))
        .as("completed without a charge for the broker's death")
        .isEqualTo(count);
    assertThat(messages.stream().map(message -> message.id() + "/" + message.fence()))
        .as("a duplicate has a higher fence")
        .doesNotHaveDuplicates();
    System.out.printf(
        "kafka: %d messages for %d tasks over a killed broker%n", messages.size(), count);
  }

  /** While Kafka is gone, nobody else waits for it. */
  private static void othersGoOn() {
    carillon.put("/v1/tenants/beside", Map.of());
    Carillon beside = carillon.withTenant("beside"); // not closed: it is the same client
    String id =
        beside
            .post("/v1/tasks", Map.of("type", "kept", "target", Map.of("discard", Map.of())))
            .get("id")
            .asString();
    await("another's task")
        .atMost(Duration.ofSeconds(5))
        .until(() -> status(beside, id).equals("COMPLETED"));
  }

  @Test
  void a_task_that_is_to_be_reported_stays_running_until_its_consumer_says_so() {
    broker.makeTopic("jobs", 1);
    type("jobs", Map.of("topic", "jobs", "cluster", "main"), "leaseTimeout", "2s");
    String id = create("jobs");

    try (KafkaReader reader = new KafkaReader(broker, "jobs")) {
      KafkaReader.Message first = reader.read(1).getFirst();
      assertThat(status(carillon, id)).isEqualTo("RUNNING");
      KafkaReader.Message second = reader.read(1).getFirst(); // its lease has lapsed

      assertThat(second.id()).isEqualTo(first.id()).hasToString(id);
      assertThat(second.fence()).isGreaterThan(first.fence());
      assertThat(report(first)).isEqualTo("stale");
      assertThat(report(second)).isEqualTo("accepted");
      assertThat(status(carillon, id)).isEqualTo("COMPLETED");
    }
  }

  @Test
  void what_no_topic_takes_is_tried_again_and_dies() {
    type(
        "lost",
        Map.of("topic", "nowhere", "cluster", "main", "complete", "onPublish"),
        "retry",
        Map.of("maxAttempts", 2, "backoff", "fixed", "base", "100ms", "jitter", "none"));

    String id = create("lost");

    await("death").atMost(PATIENCE).until(() -> status(carillon, id).equals("DEAD"));
    JsonNode task = carillon.get("/v1/tasks/" + id);
    assertThat(task.get("attempt").asInt()).isEqualTo(2);
    assertThat(task.toString()).contains("unroutable").contains("no such topic");
  }

  @Test
  void a_group_that_is_behind_stops_its_type_until_it_has_caught_up() {
    broker.makeTopic("deep", 2);
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

    await("the limit").atMost(PATIENCE).until(() -> unfinished("deep") == 150);
    await("it stays")
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
    await("the end").atMost(PATIENCE).until(() -> unfinished("deep") == 0);
  }

  @Test
  void a_secured_cluster_is_written_to_with_tls_and_a_password() {
    broker.makeTopic("sealed", 1);
    broker.makeTopic("forbidden", 1);
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

    await("the message").atMost(PATIENCE).until(() -> status(carillon, sealed).equals("COMPLETED"));
    await("the refusal").atMost(PATIENCE).until(() -> status(carillon, forbidden).equals("DEAD"));
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

  private static String status(Carillon as, String id) {
    return as.get("/v1/tasks/" + id).get("status").asString();
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
