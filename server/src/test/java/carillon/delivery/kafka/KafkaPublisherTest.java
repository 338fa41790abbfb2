package carillon.delivery.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import carillon.testkit.KafkaBroker;
import carillon.testkit.KafkaReader;
import carillon.testkit.Latches;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Publishes to a real Kafka broker. */
@Tag("slow")
class KafkaPublisherTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00.250Z");
  private static final Duration TIMEOUT = Duration.ofSeconds(20);

  @TempDir static Path directory;
  private static KafkaBroker broker;
  private static KafkaPublisher publisher;

  private final Queue<DeliveryResult> results = new ConcurrentLinkedQueue<>();

  @BeforeAll
  static void start() {
    broker = KafkaBroker.start(directory);
    publisher = reach(broker.servers());
  }

  @AfterAll
  static void stop() {
    publisher.close();
    broker.close();
  }

  private static KafkaPublisher open(String servers) {
    return KafkaPublisher.start(
        KafkaCluster.of("main", Map.of(KafkaCluster.SERVERS, servers)), InstantSource.fixed(NOW));
  }

  private static KafkaPublisher reach(String servers) {
    KafkaPublisher one = open(servers);
    await("Kafka").atMost(TIMEOUT).until(one::isReachable);
    return one;
  }

  private void publish(KafkaPublisher through, ClaimedTask... tasks) {
    through.publish(List.of(tasks), (_, result) -> results.add(result));
  }

  private List<DeliveryResult> awaitResults(int count) {
    await("results").atMost(TIMEOUT).until(() -> results.size() >= count);
    return List.copyOf(results);
  }

  @Test
  void a_message_carries_the_payload_and_the_headers() {
    broker.createTopic("full", 1);

    publish(publisher, task("full", "order-7", "{\"n\":1}"));

    assertThat(awaitResults(1))
        .containsExactly(new DeliveryResult.Accepted(null, "{\"partition\":0,\"offset\":0}"));
    try (KafkaReader reader = new KafkaReader(broker, "full")) {
      KafkaReader.Message message = reader.read(1).getFirst();
      assertThat(message.key()).isEqualTo("order-7");
      assertThat(message.value()).isEqualTo("{\"n\":1}");
      assertThat(message.headers())
          .containsEntry("Carillon-Task-Type", "t")
          .containsEntry("Carillon-Attempt", "1")
          .containsEntry("Carillon-Fence", "4")
          .containsEntry("ce_type", "t")
          .containsEntry("ce_specversion", "1.0")
          .containsEntry("ce_id", message.id().toString())
          .containsEntry("webhook-id", message.id().toString())
          .containsEntry("webhook-timestamp", Long.toString(NOW.getEpochSecond()))
          .doesNotContainKey("Carillon-Token");
    }
  }

  @Test
  void the_task_id_replaces_a_missing_key_and_an_empty_value_a_missing_payload() {
    broker.createTopic("bare", 1);
    ClaimedTask task = task("bare", null, null);

    publish(publisher, task);

    assertThat(awaitResults(1)).hasOnlyElementsOfType(DeliveryResult.Accepted.class);
    try (KafkaReader reader = new KafkaReader(broker, "bare")) {
      KafkaReader.Message message = reader.read(1).getFirst();
      assertThat(message.key()).isEqualTo(task.id().toString());
      assertThat(message.value()).isEmpty();
    }
  }

  @Test
  void a_missing_topic_fails_only_its_own_tasks() {
    broker.createTopic("existing", 1);

    publish(publisher, task("nowhere", null, "1"), task("existing", null, "1"));

    assertThat(awaitResults(2)).hasAtLeastOneElementOfType(DeliveryResult.Accepted.class);
    assertThat(failures()).containsExactly(FailureKind.UNROUTABLE);
    assertThat(publisher.isReachable()).isTrue();
  }

  @Test
  void a_deleted_topic_is_noticed() throws ExecutionException, InterruptedException {
    broker.createTopic("passing", 1);
    publish(publisher, task("passing", null, "1"));
    awaitResults(1);
    try (Admin admin = broker.admin()) {
      admin.deleteTopics(Set.of("passing")).all().get();
    }

    await("the loss of the topic")
        .atMost(TIMEOUT)
        .pollInterval(Duration.ofMillis(100))
        .until(
            () -> {
              publish(publisher, task("passing", null, "1"));
              return failures().contains(FailureKind.UNROUTABLE);
            });
    assertThat(failures()).containsOnly(FailureKind.UNROUTABLE, FailureKind.BROKER_LOST);
    await("messages in flight").atMost(TIMEOUT).until(() -> publisher.isReachable());
  }

  @Test
  void a_message_that_is_too_large_is_refused() {
    broker.createTopic("small", 1);

    publish(publisher, task("small", null, "\"" + "x".repeat(2_000_000) + "\""));

    assertThat(awaitResults(1)).hasOnlyElementsOfType(DeliveryResult.Refused.class);
    assertThat(failures()).containsExactly(FailureKind.BROKER_REFUSED);
  }

  @Test
  void the_lag_of_a_group_limits_the_capacity() {
    broker.createTopic("deep", 2);
    var target =
        new Target.Kafka(
            "main", "deep", Target.Complete.ON_PUBLISH, new Target.DepthLimit(10, "readers"));
    await("the first measurement")
        .atMost(TIMEOUT)
        .until(() -> publisher.remainingCapacity(target) == 10);

    publish(
        publisher,
        IntStream.range(0, 8).mapToObj(_ -> task("deep", null, "1")).toArray(ClaimedTask[]::new));
    awaitResults(8);

    assertThat(publisher.remainingCapacity(target)).isEqualTo(2);
    await("the next measurement")
        .atMost(TIMEOUT)
        .until(() -> publisher.depths().getOrDefault("deep/readers", 0L) == 8);
    assertThat(publisher.remainingCapacity(target)).isEqualTo(2);
    try (KafkaReader reader = new KafkaReader(broker, "deep")) {
      reader.read(8);
      reader.commit();
    }
    await("capacity").atMost(TIMEOUT).until(() -> publisher.remainingCapacity(target) == 10);
  }

  @Test
  void a_broker_that_accepts_connections_but_never_responds_is_unreachable() throws IOException {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.ofLiteral("127.0.0.1"));
        KafkaPublisher one = open("127.0.0.1:" + silent.getLocalPort())) {
      publish(one, task("any", null, "1"));

      assertThat(awaitResults(1)).hasOnlyElementsOfType(DeliveryResult.Unreached.class);
      assertThat(one.isReachable()).isFalse();
    }
  }

  @Test
  void close_interrupts_messages_in_flight() {
    broker.createTopic("closing", 1);
    KafkaPublisher one = reach(broker.servers());
    int many = 20_000;
    one.publish(
        IntStream.range(0, many).mapToObj(_ -> task("closing", null, "1")).toList(),
        (_, result) -> results.add(result));

    one.close();
    publish(one, task("closing", null, "1"));

    assertThat(results)
        .hasSize(many + 1)
        .hasAtLeastOneElementOfType(DeliveryResult.Interrupted.class);
    assertThat(failures()).isEmpty();
  }

  @Test
  void a_full_publisher_reports_it_and_still_ends_every_task() {
    broker.createTopic("heavy", 1);
    KafkaPublisher one =
        KafkaPublisher.start(
            KafkaCluster.of(
                "main", Map.of(KafkaCluster.SERVERS, broker.servers(), "buffer.memory", "2000000")),
            InstantSource.fixed(NOW));
    await("Kafka").atMost(TIMEOUT).until(one::isReachable);
    CountDownLatch checked = new CountDownLatch(1);
    String payload = "\"" + "x".repeat(100_000) + "\"";
    int many = 40;

    one.publish(
        IntStream.range(0, many).mapToObj(_ -> task("heavy", null, payload)).toList(),
        (_, result) -> {
          Latches.await(checked);
          results.add(result);
        });

    assertThat(one.isFull()).isTrue();
    checked.countDown();
    assertThat(awaitResults(many)).hasSize(many);
    assertThat(one.isFull()).isFalse();
    one.close();
    assertThat(results).hasSize(many);
  }

  @Test
  void a_task_whose_lease_has_ended_is_not_sent() {
    broker.createTopic("late", 1);

    publish(publisher, task("late", null, "1", NOW.minusMillis(1)), task("late", null, "2", NOW));

    assertThat(awaitResults(2)).contains(Results.tooLate());
    assertThat(results).hasAtLeastOneElementOfType(DeliveryResult.Accepted.class);
    try (KafkaReader reader = new KafkaReader(broker, "late")) {
      assertThat(reader.read(1)).extracting(KafkaReader.Message::value).containsExactly("2");
    }
  }

  @Test
  void a_failing_callback_does_not_affect_other_tasks() {
    broker.createTopic("dying", 1);
    publisher.publish(
        List.of(task("dying", null, "1"), task("none-such", null, "1")),
        (_, result) -> {
          results.add(result);
          throw new OutOfMemoryError("thrown by the test");
        });
    awaitResults(2);

    publish(publisher, task("dying", null, "2"));

    assertThat(awaitResults(3).getLast()).isInstanceOf(DeliveryResult.Accepted.class);
  }

  private List<FailureKind> failures() {
    return results.stream()
        .flatMap(
            result ->
                switch (result) {
                  case DeliveryResult.Failed(var failure, _) -> Stream.of(failure);
                  case DeliveryResult.Refused(var failure) -> Stream.of(failure);
                  case DeliveryResult.Unreached(var failure) -> Stream.of(failure);
                  default -> Stream.empty();
                })
        .map(failure -> failure.kind())
        .toList();
  }

  static ClaimedTask task(String topic, @Nullable String key, @Nullable String payload) {
    return task(topic, key, payload, null);
  }

  private static ClaimedTask task(
      String topic, @Nullable String key, @Nullable String payload, @Nullable Instant leaseUntil) {
    return new ClaimedTask(
        TenantId.DEFAULT,
        new TaskId(UUID.randomUUID()),
        1,
        "t",
        5,
        key,
        1,
        new Lease(4, UUID.randomUUID()),
        NOW,
        NOW,
        NOW,
        leaseUntil,
        payload,
        new Target.Kafka("main", topic, Target.Complete.ON_PUBLISH, null),
        false,
        RetryPolicy.DEFAULT,
        Duration.ofSeconds(1),
        List.<SigningSecret>of(),
        0,
        StatusRules.DEFAULT,
        null,
        null);
  }
}
