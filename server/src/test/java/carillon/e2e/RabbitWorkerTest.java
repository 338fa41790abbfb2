package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.client.TaskSource;
import carillon.client.Worker;
import carillon.client.rabbitmq.QueueSpec;
import carillon.client.rabbitmq.RabbitSource;
import carillon.testkit.RabbitMqServer;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A worker that receives its tasks from RabbitMQ. */
class RabbitWorkerTest extends BrokerWorkerContract {

  private static RabbitMqServer rabbit;
  private static Connection connection;
  private static Channel channel;

  @BeforeAll
  static void startBroker() throws Exception {
    rabbit = RabbitMqServer.start();
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(rabbit.uri());
    connection = factory.newConnection();
    channel = connection.createChannel();
  }

  @AfterAll
  static void stopBroker() throws IOException {
    if (connection != null) {
      connection.close();
      rabbit.close();
    }
  }

  @Override
  void createQueue(String name) {
    declare(QueueSpec.quorum(name).deadLetter("", name + ".dead"));
    declare(QueueSpec.classic(name + ".dead").maxPriority(9));
  }

  private static void declare(QueueSpec queue) {
    try {
      queue.declare(channel);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  void publish(String name, Map<String, String> headers, byte[] body) {
    try {
      AMQP.BasicProperties properties =
          new AMQP.BasicProperties.Builder()
              .headers(new HashMap<>(headers))
              .deliveryMode(2)
              .build();
      channel.basicPublish("", name, properties, body);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  TaskSource source(String name) {
    return RabbitSource.of(rabbit.uri(), QueueSpec.quorum(name).deadLetter("", name + ".dead"))
        .onSkipped((message, why) -> skipped.add(why));
  }

  @Override
  long remaining(String name) {
    try {
      return channel.messageCount(name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void failed_messages_without_a_token_and_unusable_messages_are_dead_lettered() throws Exception {
    createQueue(queue);
    Map<String, String> headers =
        Map.of(
            "Carillon-Task-Id", UUID.randomUUID().toString(),
            "Carillon-Task-Type", queue,
            "Carillon-Attempt", "1",
            "Carillon-Fence", "1",
            "Carillon-Due-At", "2027-01-31T08:00:00.000Z");
    publish(queue, headers, "{}".getBytes(StandardCharsets.UTF_8));
    publish(queue, Map.of(), new byte[0]);

    try (Worker worker =
        worker(
            "failing",
            source(queue),
            8,
            task -> {
              throw new IllegalStateException("no");
            })) {
      await().atMost(TIMEOUT).until(() -> channel.messageCount(queue + ".dead") == 2);
      assertThat(worker.isStopped()).isFalse();
    }
  }

  @Test
  void a_worker_reconnects_and_does_not_run_a_redelivered_message_twice() throws Exception {
    createQueue(queue);
    Queue<String> seen = new ConcurrentLinkedQueue<>();
    AtomicInteger connects = new AtomicInteger();
    Map<String, String> headers =
        Map.of(
            "Carillon-Task-Id", UUID.randomUUID().toString(),
            "Carillon-Task-Type", queue,
            "Carillon-Attempt", "1",
            "Carillon-Fence", "1",
            "Carillon-Due-At", "2027-01-31T08:00:00.000Z");
    publish(queue, headers, "{}".getBytes(StandardCharsets.UTF_8));

    try (Worker worker =
        worker(
            "reconnecting",
            RabbitSource.of(counting(connects), queue),
            8,
            task -> {
              seen.add(String.valueOf(task.id()));
              rabbit.control("close_all_connections", "test of redelivery");
              await().atMost(TIMEOUT).until(() -> connects.get() == 2);
            })) {
      await().atMost(TIMEOUT).until(() -> seen.size() == 1 && worker.held() == 0);
      await().atMost(TIMEOUT).until(RabbitWorkerTest::reconnect);
      await().atMost(TIMEOUT).until(() -> remaining(queue) == 0);
    }
    assertThat(remaining(queue)).as("remaining messages").isZero();
    assertThat(seen).hasSize(1);
  }

  private static ConnectionFactory counting(AtomicInteger connects) throws Exception {
    ConnectionFactory factory =
        new ConnectionFactory() {
          @Override
          public Connection newConnection(String name) throws IOException, TimeoutException {
            Connection created = super.newConnection(name);
            connects.incrementAndGet();
            return created;
          }
        };
    factory.setUri(rabbit.uri());
    return factory;
  }

  private static boolean reconnect() {
    try {
      ConnectionFactory factory = new ConnectionFactory();
      factory.setUri(rabbit.uri());
      connection = factory.newConnection();
      channel = connection.createChannel();
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  @Test
  void the_example_of_the_documentation_works() throws IOException {
    String uri = rabbit.uri();
    createQueue("orders");
    publishTasks("orders", "order.pack", 3);
    // document begins
    RabbitSource orders =
        RabbitSource.of(uri, QueueSpec.quorum("orders").deadLetter("", "orders.dead"));
    Worker packer =
        carillon
            .worker("packer")
            .handle("order.pack", context -> "packed " + context.key())
            .prefetch(32)
            .source(orders)
            .start();
    // document ends
    await().atMost(TIMEOUT).until(() -> completed("order.pack") == 3);
    packer.close();

    assertThat(DocBlocks.in("brokers.md"))
        .hasSize(2)
        .containsAll(DocBlocks.runBy(RabbitWorkerTest.class));
  }

  @Test
  void invalid_settings_are_rejected_without_showing_the_password() {
    assertThatThrownBy(() -> RabbitSource.of("http://user:secret@host", "q"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("secret")
        .hasNoCause();
    assertThatThrownBy(() -> QueueSpec.quorum("q").maxPriority(9))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
