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
 * A plain Kafka consumer that does tasks and reports them. It shows what is on the wire, for any
 * language; in Java a Worker with a KafkaSource does all of it, and renews leases too.
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
    settings.put("enable.auto.commit", "false"); // we commit what is done
    this.carillon = carillon;
    this.consumer =
        new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    consumer.subscribe(List.of(topic));
  }

  /** Does what has come, reports all of it in one call, and only then lets Kafka forget it. */
  public void workOnce() {
    List<Map<String, Object>> results = new ArrayList<>();
    for (ConsumerRecord<String, String> task : consumer.poll(Duration.ofMillis(500))) {
      if (!header(task, "Carillon-Token").isEmpty()) { // others are not tasks to be reported
        results.add(work(task));
      }
    }
    if (!results.isEmpty()) {
      // Results of a claim that has lapsed are answered as stale: another one has the task now.
      carillon.post("/v1/work/report", Map.of("results", results));
      consumer.commitSync();
    }
  }

  /** A message may come twice, with the same id: doing it again must do no harm. */
  private static Map<String, Object> work(ConsumerRecord<String, String> task) {
    String id = header(task, "Carillon-Task-Id");
    String token = header(task, "Carillon-Token"); // names this claim and no other
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
