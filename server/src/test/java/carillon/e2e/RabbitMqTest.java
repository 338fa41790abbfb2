package carillon.e2e;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.RabbitMqServer;
import carillon.testkit.Servers;
import carillon.testkit.TestCertificates;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A node that publishes to a real RabbitMQ broker, which is killed and restarted. */
class RabbitMqTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final int MANY = 50_000;

  @RegisterExtension static final Servers servers = new Servers();
  @TempDir static Path directory;

  private static @Nullable RabbitMqServer rabbit;
  private static @Nullable Carillon api;
  private static @Nullable Database database;

  private @Nullable Connection connection;

  @BeforeAll
  static void start() throws IOException {
    rabbit = RabbitMqServer.start();
    Db.Address address = Postgres.freshDatabase();
    database = new Database(address);
    api =
        servers
            .startOn(
                address,
                "--rabbitmq",
                "main=" + rabbit().uri(),
                "--rabbitmq",
                "tls=@" + settings("tls", rabbit().tlsUri()),
                "--rabbitmq",
                "wrong=@" + settings("wrong", rabbit().wrongTlsUri()))
            .connect();
  }

  private static Path settings(String name, String uri) throws IOException {
    return Files.writeString(
        directory.resolve(name),
        "uri=%s\ntls.truststore=%s\ntls.truststore.password=%s\n"
            .formatted(uri, rabbit().truststore(), TestCertificates.PASSWORD));
  }

  @AfterAll
  static void stop() {
    if (api != null) {
      api.close();
    }
    if (rabbit != null) {
      rabbit.close();
    }
  }

  @AfterEach
  void disconnect() throws IOException {
    if (connection != null && connection.isOpen()) {
      connection.close();
    }
  }

  private static RabbitMqServer rabbit() {
    return requireNonNull(rabbit);
  }

  private static Carillon api() {
    return requireNonNull(api);
  }

  private Channel channel() throws IOException {
    var factory = new ConnectionFactory();
    factory.setPort(rabbit().port());
    try {
      connection = factory.newConnection();
      return requireNonNull(connection.createChannel());
    } catch (TimeoutException e) {
      throw new IOException(e);
    }
  }

  /** Creates a queue, and a type whose tasks go to it. */
  private Channel queue(String name, Map<String, Object> target) throws IOException {
    return queue(name, target, Map.of());
  }

  private Channel queue(String name, Map<String, Object> target, Map<String, Object> more)
      throws IOException {
    Channel channel = channel();
    channel.queueDeclare(name, true, false, false, Map.of("x-queue-type", "quorum"));
    type(name, target, more);
    return channel;
  }

  private static void type(String name, Map<String, Object> target, Map<String, Object> more) {
    Map<String, Object> inner = new HashMap<>(Map.of("cluster", "main", "routingKey", name));
    inner.putAll(target);
    Map<String, Object> type = new HashMap<>(more);
    type.put("target", Map.of("rabbitmq", inner));
    api().put("/v1/types/" + name, type);
  }

  private static List<String> create(String type, int count) {
    List<String> ids = new ArrayList<>();
    api()
        .post(
            "/v1/tasks/batch",
            Map.of("tasks", Collections.nCopies(count, Map.of("type", type, "payload", "x"))))
        .path("ids")
        .forEach(id -> ids.add(id.asString()));
    return ids;
  }

  private static String status(String task) {
    return api().get("/v1/tasks/" + task).path("status").asString();
  }

  private static long inState(String type, String state) {
    return requireNonNull(database)
        .count(
            """
            SELECT count(*)
            FROM carillon.task t
            JOIN carillon.lane l ON l.id = t.lane
            WHERE t.state = '%s'
              AND l.type = '%s'
            """
                .formatted(state, type));
  }

  private static String header(GetResponse message, String name) {
    return String.valueOf(message.getProps().getHeaders().get(name));
  }

  private static GetResponse next(Channel channel, String queue) {
    return await()
        .atMost(TIMEOUT)
        .pollDelay(Duration.ZERO) // hundreds of messages are there already
        .until(() -> channel.basicGet(queue, true), message -> message != null);
  }

  private static String report(String task, String token) {
    return api()
        .post(
            "/v1/work/report",
            Map.of("results", List.of(Map.of("id", task, "token", token, "outcome", "completed"))))
        .path("results")
        .path(0)
        .path("result")
        .asString();
  }

  @Test
  void no_task_is_lost_and_other_lanes_continue_when_the_broker_is_killed() throws IOException {
    queue("orders", Map.of("complete", "onPublish"));
    rabbit().settle();
    Set<String> ids = new HashSet<>(create("orders", MANY));
    await().atMost(TIMEOUT).until(() -> inState("orders", "COMPLETED") > 2_000);

    rabbit().kill9();
    String other =
        api()
            .post("/v1/tasks", Map.of("type", "other", "target", Map.of("discard", Map.of())))
            .path("id")
            .asString();
    await().atMost(TIMEOUT).until(() -> status(other).equals("COMPLETED"));
    assertThat(inState("orders", "COMPLETED")).isLessThan(MANY);
    rabbit().restart();

    await().atMost(TIMEOUT).until(() -> inState("orders", "COMPLETED") == MANY);
    assertThat(
            requireNonNull(database)
                .count(
                    """
                    SELECT count(*)
                    FROM carillon.task t
                    JOIN carillon.lane l ON l.id = t.lane
                    WHERE t.attempt <> 1
                      AND l.type = 'orders'
                    """))
        .as("tasks that needed a second attempt")
        .isZero();
    Map<String, Set<String>> fences = new ConcurrentHashMap<>();
    var repeated = new AtomicInteger();
    Channel channel = channel();
    channel.basicConsume(
        "orders",
        true,
        (_, message) -> {
          var properties = message.getProperties();
          String fence = String.valueOf(properties.getHeaders().get("Carillon-Fence"));
          if (!fences.computeIfAbsent(properties.getMessageId(), _ -> new HashSet<>()).add(fence)) {
            repeated.incrementAndGet();
          }
        },
        _ -> {});
    await().atMost(TIMEOUT).until(() -> fences.size() >= MANY);
    assertThat(fences.keySet()).isEqualTo(ids);
    assertThat(repeated).as("messages with the same task and fence").hasValue(0);
  }

  @Test
  void a_task_not_reported_in_time_is_published_again_with_a_higher_fence() throws IOException {
    Channel channel =
        queue("reported", Map.of("complete", "onReport"), Map.of("leaseTimeout", "2s"));
    String task = create("reported", 1).getFirst();

    GetResponse first = next(channel, "reported");
    GetResponse second = next(channel, "reported");

    assertThat(first.getProps().getMessageId()).isEqualTo(task);
    assertThat(second.getProps().getMessageId()).isEqualTo(task);
    assertThat(Integer.parseInt(header(second, "Carillon-Fence")))
        .isGreaterThan(Integer.parseInt(header(first, "Carillon-Fence")));
    assertThat(report(task, header(first, "Carillon-Token"))).isEqualTo("stale");
    assertThat(report(task, header(second, "Carillon-Token"))).isEqualTo("accepted");
    assertThat(status(task)).isEqualTo("COMPLETED");
  }

  @Test
  void an_unroutable_task_is_retried_and_ends_dead() {
    Map<String, Object> retry =
        Map.of("retry", Map.of("maxAttempts", 2, "backoff", "fixed", "base", "100ms"));
    type("nowhere", Map.of("complete", "onPublish"), retry);
    type("no.exchange", Map.of("complete", "onPublish", "exchange", "no-such"), retry);

    for (String type : List.of("nowhere", "no.exchange")) {
      String task = create(type, 1).getFirst();
      await().atMost(TIMEOUT).until(() -> status(task).equals("DEAD"));
      assertThat(api().get("/v1/tasks/" + task).path("attempts").toString()).contains("unroutable");
    }
  }

  @Test
  void a_queue_at_its_depth_limit_gets_no_messages_until_it_is_drained() throws IOException {
    Channel channel = queue("limited", Map.of("complete", "onPublish", "maxDepth", 100));
    create("limited", 250);
    await().atMost(TIMEOUT).until(() -> inState("limited", "COMPLETED") == 100);
    int seen = 0;
    int maxDepth = 0;
    while (seen < 250) {
      int depth = channel.queueDeclarePassive("limited").getMessageCount();
      maxDepth = Math.max(maxDepth, depth);
      next(channel, "limited");
      seen++;
    }

    assertThat(maxDepth).isBetween(90, 100);
    await().atMost(TIMEOUT).until(() -> inState("limited", "COMPLETED") == 250);
  }

  @Test
  void a_tls_broker_needs_a_certificate_for_its_host_name() throws IOException {
    queue("encrypted", Map.of("complete", "onPublish", "cluster", "tls"));
    String task = create("encrypted", 1).getFirst();

    await().atMost(TIMEOUT).until(() -> status(task).equals("COMPLETED"));
    assertThat(api().text("/metrics"))
        .contains("carillon_broker_reachable{broker=\"rabbitmq/tls\"} 1.0")
        .contains("carillon_broker_reachable{broker=\"rabbitmq/wrong\"} 0.0");
  }
}
