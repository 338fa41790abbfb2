package carillon.delivery.rabbitmq;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import carillon.testkit.Latches;
import carillon.testkit.RabbitMqServer;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Publishes to a real RabbitMQ server. */
@Tag("slow")
class RabbitPublisherTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(20);
  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");

  private static @Nullable RabbitMqServer rabbit;

  private final RabbitPublisher publisher =
      RabbitPublisher.start(cluster(rabbit().port()), InstantSource.fixed(NOW));
  private final List<DeliveryResult> results = new ArrayList<>();
  private Connection connection = connect();
  private Channel channel = channel();

  private static RabbitMqServer rabbit() {
    return requireNonNull(rabbit);
  }

  private static RabbitCluster cluster(int port) {
    return new RabbitCluster(
        "main", List.of(new RabbitCluster.Host("127.0.0.1", port)), "guest", "guest", "/", null);
  }

  @BeforeAll
  static void startServer() {
    rabbit = RabbitMqServer.start();
  }

  @AfterAll
  static void stopServer() {
    if (rabbit != null) {
      rabbit.close();
    }
  }

  @BeforeEach
  void awaitConnection() {
    await().atMost(TIMEOUT).until(publisher::isReachable);
  }

  @AfterEach
  void close() throws IOException {
    publisher.close();
    if (connection.isOpen()) {
      connection.close();
    }
  }

  private static Connection connect() {
    var factory = new ConnectionFactory();
    factory.setPort(rabbit().port());
    factory.setAutomaticRecoveryEnabled(false);
    try {
      return factory.newConnection();
    } catch (IOException | TimeoutException e) {
      throw new AssertionError(e);
    }
  }

  private Channel channel() {
    try {
      return requireNonNull(connection.createChannel());
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private String queue(String name, Map<String, Object> arguments) throws IOException {
    return channel.queueDeclare(name, true, false, false, arguments).getQueue();
  }

  private static Target.RabbitMq to(String exchange, String routingKey) {
    return new Target.RabbitMq("main", exchange, routingKey, Target.Complete.ON_PUBLISH, null);
  }

  private static ClaimedTask task(Target target, int priority) {
    return task(target, priority, null, "{\"n\":1}");
  }

  private static ClaimedTask task(
      Target target, int priority, @Nullable Instant leaseUntil, String payload) {
    return new ClaimedTask(
        TenantId.DEFAULT,
        new TaskId(UUID.randomUUID()),
        1,
        "invoice.send",
        priority,
        "42",
        2,
        new Lease(7, new UUID(1, 2)),
        NOW,
        NOW,
        NOW,
        leaseUntil,
        payload,
        target,
        false,
        RetryPolicy.DEFAULT,
        Duration.ofSeconds(10),
        List.of(),
        0,
        StatusRules.DEFAULT,
        null,
        null);
  }

  private DeliveryResult publish(Target target) {
    CompletableFuture<DeliveryResult> future = new CompletableFuture<>();
    publisher.publish(List.of(task(target, 5)), (_, result) -> future.complete(result));
    return future.orTimeout(20, TimeUnit.SECONDS).join();
  }

  private static FailureKind kind(DeliveryResult result) {
    return switch (result) {
      case DeliveryResult.Failed failed -> failed.failure().kind();
      case DeliveryResult.Unreached unreached -> unreached.failure().kind();
      default -> throw new AssertionError("not failed, but " + result);
    };
  }

  @Test
  void a_message_has_all_properties_and_is_persistent() throws IOException {
    queue("plain", Map.of());
    ClaimedTask task = task(to("", "plain"), 8);
    CompletableFuture<DeliveryResult> future = new CompletableFuture<>();

    publisher.publish(List.of(task), (_, result) -> future.complete(result));

    assertThat(future.join()).isEqualTo(new DeliveryResult.Accepted(null, null));
    GetResponse got = channel.basicGet("plain", true);
    AMQP.BasicProperties properties = got.getProps();
    assertThat(got.getBody()).asString().isEqualTo("{\"n\":1}");
    assertThat(properties.getMessageId()).isEqualTo(task.id().toString());
    assertThat(properties.getDeliveryMode()).isEqualTo(2);
    assertThat(properties.getPriority()).isEqualTo(8);
    assertThat(properties.getType()).isEqualTo("invoice.send");
    assertThat(properties.getAppId()).isEqualTo("carillon");
    assertThat(properties.getContentType()).isEqualTo("application/json");
    assertThat(properties.getTimestamp()).isEqualTo(NOW);
    assertThat(properties.getHeaders()).doesNotContainKey("content-type");
    assertThat(properties.getHeaders().get("Carillon-Fence")).hasToString("7");
    assertThat(properties.getHeaders().get("ce_type")).hasToString("invoice.send");
  }

  @Test
  void priorities_take_effect_in_a_priority_queue() throws IOException {
    queue("urgent", Map.of("x-max-priority", 9));
    List<ClaimedTask> tasks =
        IntStream.of(1, 9, 5).mapToObj(priority -> task(to("", "urgent"), priority)).toList();
    var confirmed = new AtomicInteger();

    publisher.publish(tasks, (_, _) -> confirmed.incrementAndGet());

    await().atMost(TIMEOUT).until(() -> confirmed.get() == tasks.size());
    List<Integer> priorities = new ArrayList<>();
    for (int i = 0; i < tasks.size(); i++) {
      priorities.add(channel.basicGet("urgent", true).getProps().getPriority());
    }
    assertThat(priorities).containsExactly(9, 5, 1);
  }

  @Test
  void a_rejected_message_goes_to_the_dead_letter_queue() throws IOException {
    queue("dead", Map.of());
    queue(
        "work",
        Map.of(
            "x-queue-type",
            "quorum",
            "x-dead-letter-exchange",
            "",
            "x-dead-letter-routing-key",
            "dead"));

    assertThat(publish(to("", "work"))).isInstanceOf(DeliveryResult.Accepted.class);
    channel.basicReject(channel.basicGet("work", false).getEnvelope().getDeliveryTag(), false);

    await().atMost(TIMEOUT).until(() -> channel.queueDeclarePassive("dead").getMessageCount() == 1);
    assertThat(channel.basicGet("dead", true).getBody()).asString().isEqualTo("{\"n\":1}");
  }

  @Test
  void an_unroutable_message_fails_without_affecting_others() throws IOException {
    queue("there", Map.of());
    List<ClaimedTask> tasks =
        IntStream.range(0, 200)
            .mapToObj(n -> task(to("", n % 2 == 0 ? "there" : "nowhere"), 5))
            .toList();
    List<ClaimedTask> unroutable = new ArrayList<>();
    var count = new AtomicInteger();

    publisher.publish(
        tasks,
        (task, result) -> {
          synchronized (unroutable) {
            if (result instanceof DeliveryResult.Failed) {
              unroutable.add(task);
            }
          }
          count.incrementAndGet();
        });

    await().atMost(TIMEOUT).until(() -> count.get() == tasks.size());
    assertThat(unroutable)
        .hasSize(100)
        .allMatch(task -> ((Target.RabbitMq) task.target()).routingKey().equals("nowhere"));
    assertThat(kind(publish(to("", "nowhere")))).isEqualTo(FailureKind.UNROUTABLE);
  }

  @Test
  void a_missing_exchange_does_not_close_the_channel() throws IOException {
    channel.exchangeDeclare("orders", "topic", true);
    queue("all-orders", Map.of());
    channel.queueBind("all-orders", "orders", "#");

    assertThat(kind(publish(to("no-such", "k")))).isEqualTo(FailureKind.UNROUTABLE);
    assertThat(publish(to("orders", "a.b"))).isInstanceOf(DeliveryResult.Accepted.class);
    assertThat(kind(publish(to("no-such", "k")))).isEqualTo(FailureKind.UNROUTABLE);
    assertThat(publisher.isReachable()).isTrue();
  }

  @Test
  void a_deleted_exchange_is_noticed_and_other_messages_continue() throws IOException {
    channel.exchangeDeclare("fleeting", "fanout", true);
    queue("fleeting-queue", Map.of());
    channel.queueBind("fleeting-queue", "fleeting", "");
    assertThat(publish(to("fleeting", ""))).isInstanceOf(DeliveryResult.Accepted.class);

    channel.exchangeDelete("fleeting");

    assertThat(kind(publish(to("fleeting", "")))).isEqualTo(FailureKind.UNROUTABLE);
    await().atMost(TIMEOUT).until(publisher::isReachable);
    assertThat(publish(to("", "fleeting-queue"))).isInstanceOf(DeliveryResult.Accepted.class);
    assertThat(kind(publish(to("fleeting", "")))).isEqualTo(FailureKind.UNROUTABLE);
  }

  @Test
  void an_internal_exchange_refuses_messages() throws IOException {
    channel.exchangeDeclare("inner", "fanout", true, false, true, Map.of());

    assertThat(kind(publish(to("inner", "")))).isEqualTo(FailureKind.BROKER_REFUSED);
    await().atMost(TIMEOUT).until(publisher::isReachable);
    assertThat(kind(publish(to("inner", "")))).isEqualTo(FailureKind.BROKER_REFUSED);
    assertThat(publisher.isReachable()).isTrue();
  }

  @Test
  void a_full_queue_rejects_messages() throws IOException {
    queue("small", Map.of("x-max-length", 1, "x-overflow", "reject-publish"));

    assertThat(publish(to("", "small"))).isInstanceOf(DeliveryResult.Accepted.class);
    assertThat(kind(publish(to("", "small")))).isEqualTo(FailureKind.BROKER_REFUSED);
  }

  @Test
  void a_queue_accepts_messages_up_to_its_limit_and_again_once_emptied() throws IOException {
    queue("limited", Map.of());
    var limited =
        new Target.RabbitMq(
            "main", "", "limited", Target.Complete.ON_PUBLISH, new Target.DepthLimit(3, "limited"));
    var signals = new AtomicInteger();
    publisher.ready().add(signals::incrementAndGet);

    await().atMost(TIMEOUT).until(() -> publisher.remainingCapacity(limited) == 3);
    for (int i = 0; i < 3; i++) {
      assertThat(publish(limited)).isInstanceOf(DeliveryResult.Accepted.class);
      assertThat(publisher.remainingCapacity(limited)).isEqualTo(2 - i);
    }
    assertThat(publisher.depths()).containsEntry("limited", 3L);
    int before = signals.get();
    channel.queuePurge("limited");

    await().atMost(TIMEOUT).until(() -> signals.get() > before);
    assertThat(publisher.remainingCapacity(limited)).isEqualTo(3);
  }

  @Test
  void a_depth_limit_on_a_missing_queue_has_no_effect() {
    var limited =
        new Target.RabbitMq(
            "main", "", "gone", Target.Complete.ON_PUBLISH, new Target.DepthLimit(3, "gone"));

    await().atMost(TIMEOUT).until(() -> publisher.remainingCapacity(limited) == Integer.MAX_VALUE);
    assertThat(kind(publish(limited))).isEqualTo(FailureKind.UNROUTABLE);
  }

  @Test
  void messages_time_out_while_the_broker_has_blocked_the_connection() throws IOException {
    queue("blocked", Map.of());
    rabbit().control("set_vm_memory_high_watermark", "absolute", "1MB");
    try {
      publisher.publish(List.of(task(to("", "blocked"), 5)), (_, _) -> {});
      await().atMost(TIMEOUT).until(() -> !publisher.isReachable());
      assertThat(publisher.isFull()).isFalse();
      String large = "x".repeat(1 << 20);
      List<ClaimedTask> tasks =
          IntStream.range(0, 20).mapToObj(_ -> task(to("", "blocked"), 5, null, large)).toList();

      publisher.publish(
          tasks,
          (_, result) -> {
            synchronized (results) {
              results.add(result);
            }
          });

      assertThat(publisher.isFull()).isTrue();
      await().atMost(publisher.confirmTimeout()).until(() -> resultCount() == tasks.size());
      assertThat(results).allMatch(result -> kind(result) == FailureKind.BROKER_LOST);
      assertThat(publisher.isFull()).isFalse();
    } finally {
      rabbit().control("set_vm_memory_high_watermark", "0.4");
    }

    await().atMost(TIMEOUT).until(publisher::isReachable);
    await()
        .atMost(TIMEOUT)
        .until(() -> publish(to("", "blocked")) instanceof DeliveryResult.Accepted);
  }

  @Test
  void a_task_with_a_lapsed_lease_is_not_published() throws IOException {
    queue("lapsed", Map.of());
    CompletableFuture<DeliveryResult> future = new CompletableFuture<>();

    publisher.publish(
        List.of(task(to("", "lapsed"), 5, NOW, "1")), (_, result) -> future.complete(result));

    assertThat(kind(future.join())).isEqualTo(FailureKind.BROKER_LOST);
    assertThat(publish(to("", "lapsed"))).isInstanceOf(DeliveryResult.Accepted.class);
    assertThat(channel.queueDeclarePassive("lapsed").getMessageCount()).isEqualTo(1);
  }

  @Test
  void messages_unconfirmed_when_the_broker_dies_are_unreached() throws IOException {
    queue("durable", Map.of("x-queue-type", "quorum"));
    rabbit().settle();
    List<ClaimedTask> tasks =
        IntStream.range(0, 5_000).mapToObj(n -> task(to("", "durable"), 5)).toList();
    Set<String> accepted = ConcurrentHashMap.newKeySet();
    CountDownLatch firstAccepted = new CountDownLatch(1);
    // On another thread: a fast broker confirms all of them before publish returns.
    Thread.startVirtualThread(
        () ->
            publisher.publish(
                tasks,
                (task, result) -> {
                  if (result instanceof DeliveryResult.Accepted) {
                    accepted.add(task.id().toString());
                    firstAccepted.countDown();
                  }
                  synchronized (results) {
                    results.add(result);
                  }
                }));
    Latches.await(firstAccepted);
    rabbit().kill9();

    await().atMost(TIMEOUT).until(() -> resultCount() == tasks.size());
    assertThat(publisher.isReachable()).isFalse();
    assertThat(kind(publish(to("", "durable")))).isEqualTo(FailureKind.BROKER_LOST);
    assertThat(results)
        .allMatch(
            result ->
                result instanceof DeliveryResult.Accepted
                    || kind(result).equals(FailureKind.BROKER_LOST));
    rabbit().restart();
    await().atMost(TIMEOUT).until(publisher::isReachable);
    connection = connect();
    channel = channel();
    Set<String> stored = ConcurrentHashMap.newKeySet();
    channel.basicConsume(
        "durable",
        true,
        (_, message) -> stored.add(message.getProperties().getMessageId()),
        _ -> {});
    await().atMost(TIMEOUT).until(() -> stored.containsAll(accepted));
    assertThat(accepted).hasSizeLessThan(tasks.size());
  }

  private int resultCount() {
    synchronized (results) {
      return results.size();
    }
  }

  @Test
  void close_interrupts_messages_in_flight_and_later_ones() throws IOException {
    queue("late", Map.of("x-queue-type", "quorum"));
    List<ClaimedTask> tasks =
        IntStream.range(0, 2_000).mapToObj(n -> task(to("", "late"), 5)).toList();
    publisher.publish(
        tasks,
        (_, result) -> {
          synchronized (results) {
            results.add(result);
          }
        });

    publisher.close();

    assertThat(resultCount()).isEqualTo(tasks.size());
    assertThat(results)
        .hasAtLeastOneElementOfType(DeliveryResult.Interrupted.class)
        .allMatch(
            result ->
                result instanceof DeliveryResult.Interrupted
                    || result instanceof DeliveryResult.Accepted);
    assertThat(publish(to("", "late"))).isInstanceOf(DeliveryResult.Interrupted.class);
  }
}
