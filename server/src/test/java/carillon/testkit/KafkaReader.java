package carillon.testkit;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads a topic from the beginning, as a consumer of the group {@code readers}. */
public final class KafkaReader implements AutoCloseable {

  private final KafkaConsumer<byte[], byte[]> consumer;

  /** A message as a consumer sees it. */
  public record Message(String key, String value, Map<String, String> headers) {

    public String header(String name) {
      String value = headers.get(name);
      if (value == null) {
        throw new AssertionError("no header " + name + " in " + headers);
      }
      return value;
    }

    public UUID id() {
      return UUID.fromString(header("Carillon-Task-Id"));
    }

    public int fence() {
      return Integer.parseInt(header("Carillon-Fence"));
    }
  }

  public KafkaReader(KafkaBroker broker, String topic) {
    this(Map.of("bootstrap.servers", broker.servers()), topic);
  }

  public KafkaReader(Map<String, Object> settings, String topic) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("group.id", "readers");
    all.put("auto.offset.reset", "earliest");
    all.put("enable.auto.commit", false);
    all.put("isolation.level", "read_committed");
    this.consumer =
        new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    consumer.subscribe(List.of(topic));
  }

  /** Reads the messages since the last call; waits up to half a second for the first. */
  public List<Message> read() {
    List<Message> messages = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(500))) {
      Map<String, String> headers = new LinkedHashMap<>();
      one.headers().forEach(header -> headers.put(header.key(), text(header.value())));
      messages.add(new Message(text(one.key()), text(one.value()), headers));
    }
    return messages;
  }

  /** Reads at least this many messages; fails after 30 seconds. */
  public List<Message> read(int least) {
    List<Message> messages = new ArrayList<>();
    long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (messages.size() < least) {
      if (System.nanoTime() > end) {
        throw new AssertionError("only " + messages.size() + " of " + least + " messages arrived");
      }
      messages.addAll(read());
    }
    return messages;
  }

  /** Commits the offsets, which lowers the group's lag. */
  public void commit() {
    consumer.commitSync();
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    consumer.close();
  }
}
