package carillon.bench.peers;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A plain Kafka producer. */
final class Producer {

  /** About as many as Carillon sends with a task. */
  private static final int HEADERS = 16;

  private Producer() {}

  /** Sends a number of messages and waits until all are confirmed. */
  static Map<String, ?> produce(String servers, int tasks, String payload) {
    byte[] value = payload.getBytes(StandardCharsets.UTF_8);
    byte[] header = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
    AtomicReference<Exception> failure = new AtomicReference<>();
    try (var producer =
        new KafkaProducer<byte[], byte[]>(
            Map.of(
                "bootstrap.servers",
                servers,
                "acks",
                "all",
                "enable.idempotence",
                true,
                "batch.size",
                64 * 1024,
                "linger.ms",
                2,
                "buffer.memory",
                64L * 1024 * 1024,
                "key.serializer",
                ByteArraySerializer.class,
                "value.serializer",
                ByteArraySerializer.class))) {
      long began = System.nanoTime();
      for (int i = 0; i < tasks; i++) {
        byte[] key = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
        var message = new ProducerRecord<>("bench", null, key, value);
        for (int n = 0; n < HEADERS; n++) {
          message.headers().add(new RecordHeader("Carillon-Header-" + n, header));
        }
        var _ =
            producer.send(
                message,
                (_, error) -> {
                  if (error != null) {
                    failure.set(error);
                  }
                });
      }
      producer.flush();
      double seconds = (System.nanoTime() - began) / 1e9;
      if (failure.get() != null) {
        throw new IllegalStateException(failure.get());
      }
      return Map.of("tasks", tasks, "seconds", seconds);
    }
  }
}
