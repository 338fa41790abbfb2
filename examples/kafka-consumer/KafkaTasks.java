import carillon.client.Carillon;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A plain Kafka consumer that handles tasks and reports them. Shows the protocol for any language;
 * in Java, a Worker with a KafkaSource does all of this and renews leases as well.
 */
public class KafkaTasks implements AutoCloseable {

  private final Carillon carillon;
  private final KafkaConsumer<String, String> consumer;

  public static void main(String[] args) {
    String url = System.getenv().getOrDefault("CARILLON_URL", "http://127.0.0.1:8080");
    try (Carillon carillon = Carillon.connect(url, System.getenv("CARILLON_KEY"));
        KafkaTasks tasks = new KafkaTasks(carillon, System.getenv("KAFKA_SERVERS"), "invoices")) {
      while (true) {
        tasks.workOnce();
      }
    }
  }

  public KafkaTasks(Carillon carillon, String servers, String topic) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", servers);
    settings.put("group.id", "mailer");
    settings.put("auto.offset.reset", "earliest");
    settings.put("enable.auto.commit", "false"); // offsets are committed after the report
    this.carillon = carillon;
    this.consumer =
        new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of(topic));
  }

  /** Handles the fetched tasks, reports them in one call and then commits the offsets. */
  public void workOnce() {
    List<Map<String, Object>> results = new ArrayList<>();
    for (ConsumerRecord<String, String> task : consumer.poll(Duration.ofMillis(500))) {
      if (!header(task, "Carillon-Token").isEmpty()) { // messages without a token are not reported
        results.add(work(task));
      }
    }
    if (!results.isEmpty()) {
      // Results of an expired lease come back as stale: the task was claimed again.
      carillon.post("/v1/work/report", Map.of("results", results));
      consumer.commitSync();
    }
  }

  /** A message may be delivered twice with the same id, so the work must be idempotent. */
  private static Map<String, Object> work(ConsumerRecord<String, String> task) {
    String id = header(task, "Carillon-Task-Id");
    String token = header(task, "Carillon-Token"); // identifies this claim
    try {
      System.out.println(header(task, "Carillon-Task-Type") + " " + id + " " + task.value());
      return Map.of("id", id, "token", token, "outcome", "completed");
    } catch (RuntimeException e) {
      return Map.of("id", id, "token", token, "outcome", "failed", "error", e.toString());
    }
  }

  private static String header(ConsumerRecord<String, String> task, String name) {
    Header header = task.headers().lastHeader(name);
    return header == null ? "" : new String(header.value(), StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    consumer.close();
  }
}
