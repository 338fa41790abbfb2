package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.client.TaskSource;
import carillon.client.Worker;
import carillon.client.kafka.KafkaSource;
import carillon.testkit.KafkaBroker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A worker that receives its tasks from Kafka. */
class KafkaWorkerTest extends BrokerWorkerContract {

  private static final int PARTITIONS = 4;

  @TempDir static Path directory;

  private static KafkaBroker kafka;
  private static KafkaProducer<byte[], byte[]> producer;
  private static Admin admin;

  @BeforeAll
  static void startBroker() {
    kafka = KafkaBroker.start(directory);
    producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", kafka.servers()),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    admin = kafka.admin();
  }

  @AfterAll
  static void stopBroker() {
    producer.close();
    admin.close();
    kafka.close();
  }

  @Override
  void createQueue(String name) {
    kafka.createTopic(name, PARTITIONS);
  }

  @Override
  void publish(String name, Map<String, String> headers, byte[] body) {
    ProducerRecord<byte[], byte[]> message =
        new ProducerRecord<>(
            name,
            headers.getOrDefault("Carillon-Key", "none").getBytes(StandardCharsets.UTF_8),
            body);
    headers.forEach(
        (key, value) -> message.headers().add(key, value.getBytes(StandardCharsets.UTF_8)));
    Future<RecordMetadata> sent = producer.send(message);
    producer.flush();
    assertThat(sent).isDone();
  }

  @Override
  TaskSource source(String name) {
    return KafkaSource.of(
            Map.of(
                "bootstrap.servers",
                kafka.servers(),
                "group.id",
                name,
                "heartbeat.interval.ms",
                300),
            name)
        .onSkipped((message, why) -> skipped.add(why));
  }

  @Override
  long remaining(String name) {
    try {
      Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
      for (int i = 0; i < PARTITIONS; i++) {
        ends.put(new TopicPartition(name, i), OffsetSpec.latest());
      }
      Map<TopicPartition, OffsetAndMetadata> committed =
          admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get();
      long remaining = 0;
      for (var end : admin.listOffsets(ends).all().get().entrySet()) {
        OffsetAndMetadata offset = committed.get(end.getKey());
        remaining += end.getValue().offset() - (offset == null ? 0 : offset.offset());
      }
      return remaining;
    } catch (ExecutionException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  @Test
  void the_example_of_the_documentation_works() throws IOException {
    String servers = kafka.servers();
    createQueue("invoices");
    publishTasks("invoices", "invoice.pay", 3);
    // document begins
    KafkaSource invoices =
        KafkaSource.of(
            Map.of("bootstrap.servers", servers, "group.id", "biller"), // Kafka consumer settings
            "invoices");
    Worker biller =
        carillon
            .worker("biller")
            .handle("invoice.pay", context -> "paid " + context.key())
            .source(invoices)
            .start();
    // document ends
    await().atMost(TIMEOUT).until(() -> completed("invoice.pay") == 3);
    biller.close();

    assertThat(DocBlocks.in("brokers.md"))
        .hasSize(2)
        .containsAll(DocBlocks.runBy(KafkaWorkerTest.class));
  }

  @Test
  void missing_or_reserved_settings_are_rejected() {
    Map<String, String> good = Map.of("bootstrap.servers", "localhost:1", "group.id", "g");
    assertThatThrownBy(() -> KafkaSource.of(Map.of("group.id", "g"), "t"))
        .hasMessageContaining("bootstrap.servers");
    assertThatThrownBy(() -> KafkaSource.of(good)).hasMessageContaining("topic");
    for (String reserved : List.of("enable.auto.commit", "value.deserializer")) {
      Map<String, String> bad = new HashMap<>(good);
      bad.put(reserved, "true");
      assertThatThrownBy(() -> KafkaSource.of(bad, "t")).hasMessageContaining(reserved);
    }
  }
}
