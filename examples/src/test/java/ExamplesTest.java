import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.NewTask;
import carillon.client.TaskStatus;
import carillon.client.TaskView;
import carillon.client.Worker;
import com.sun.net.httpserver.HttpServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import shop.Shop;

/** Runs every example against one real server. */
class ExamplesTest {

  @TempDir static Path directory;

  private static TestBroker broker;
  private static CarillonServer server;
  private static Carillon carillon;

  @BeforeAll
  static void start() throws Exception {
    broker = new TestBroker(Files.createDirectory(directory.resolve("kafka")), "invoices");
    server =
        new CarillonServer(
            Files.createDirectory(directory.resolve("carillon")),
            "--kafka",
            "main=" + broker.servers());
    carillon = server.connect();
  }

  @AfterAll
  static void stop() {
    carillon.close();
    server.close();
    broker.close();
  }

  @Test
  void the_receiver_accepts_only_signed_deliveries() throws Exception {
    String secret = "whsec_" + Base64.getEncoder().encodeToString(new byte[32]);
    HttpServer receiver = new HttpReceiver(secret).start(0);
    String url = "http://127.0.0.1:" + receiver.getAddress().getPort() + "/";
    try {
      Map<String, Object> target = Map.of("http", Map.of("url", url));
      carillon.put("/v1/types/signed", Map.of("target", target, "signingSecret", secret));
      carillon.put("/v1/types/unsigned", Map.of("target", target));

      UUID signed = carillon.enqueue(NewTask.of("signed").payload(Map.of("n", 1))).id();
      UUID unsigned = carillon.enqueue(NewTask.of("unsigned").payload(Map.of("n", 2))).id();

      assertThat(ended(signed).status()).isEqualTo(TaskStatus.COMPLETED);
      assertThat(ended(unsigned).status()).isEqualTo(TaskStatus.DEAD);
      assertThat(post(url, "{}")).isEqualTo("401 ");
    } finally {
      receiver.stop(0);
    }
  }

  @Test
  void the_java_worker_completes_retries_and_dead_letters_tasks() {
    try (Worker worker = JavaWorker.start(carillon)) {
      UUID sent = invoice("ada@example.com");
      UUID retried = invoice("bob@mail.busy");
      UUID hopeless = invoice("nobody");

      assertThat(ended(sent).output()).contains("ada@example.com");
      assertThat(ended(retried).attempt()).isEqualTo(2);
      assertThat(ended(hopeless).status()).isEqualTo(TaskStatus.DEAD);
      assertThat(worker).isNotNull();
    }
  }

  private static UUID invoice(String email) {
    return carillon
        .enqueue(NewTask.of("invoice.send").payload(new JavaWorker.Invoice(42, email)))
        .id();
  }

  @Test
  void the_kafka_consumer_reports_its_tasks() {
    Map<String, Object> kafka = Map.of("kafka", Map.of("topic", "invoices"));
    UUID id = carillon.enqueue(NewTask.of("billed").payload(Map.of("n", 1)).target(kafka)).id();

    try (KafkaTasks tasks = new KafkaTasks(carillon, broker.servers(), "invoices")) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> {
                tasks.workOnce();
                return status(id) == TaskStatus.COMPLETED;
              });
    }
  }

  @Test
  void an_order_and_its_task_are_committed_together() throws Exception {
    try (Connection connection = DriverManager.getConnection(server.jdbcUrl())) {
      SqlTransaction.createTable(connection);

      UUID task = SqlTransaction.order(connection, 1, 5);
      assertThat(status(task)).isEqualTo(TaskStatus.PENDING);

      assertThatThrownBy(() -> SqlTransaction.order(connection, 2, 0))
          .isInstanceOf(SQLException.class);
      assertThat(carillon.get("/v1/tasks?type=order.confirm&key=order-2").get("items")).isEmpty();

      SqlTransaction.cancel(connection, 1);
      assertThat(status(task)).isEqualTo(TaskStatus.CANCELLED);
    }
  }

  @Test
  void the_curl_script_runs_a_task_from_create_to_cancel() throws Exception {
    Path output = directory.resolve("script.out");
    ProcessBuilder script =
        new ProcessBuilder("curl/tasks.sh")
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    script.environment().put("CARILLON_URL", server.url());
    script.environment().put("CARILLON_KEY", server.key());
    Process process = script.start();

    assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();

    assertThat(Files.readString(output))
        .containsPattern("reported .*accepted")
        .containsPattern("repeated .*stale")
        .containsPattern("ended +COMPLETED\n")
        .containsPattern("cancelled .*\"cancelled\": *1");
    assertThat(process.exitValue()).isZero();
  }

  @Test
  void the_shop_confirms_an_order_and_reports_health_and_metrics() throws Exception {
    try (ConfigurableApplicationContext shop =
        SpringApplication.run(
            Shop.class,
            "--server.port=0",
            "--carillon.url=" + server.url(),
            "--carillon.key=" + server.key())) {
      String url = "http://127.0.0.1:" + shop.getEnvironment().getProperty("local.server.port");

      String answer = post(url + "/orders", "{\"number\": 7, \"email\": \"ada@example.com\"}");

      assertThat(answer).startsWith("200 ");
      UUID task = UUID.fromString(answer.substring(4).replace("\"", ""));
      assertThat(ended(task).output()).contains("ada@example.com");
      assertThat(get(url + "/actuator/health")).contains("\"carillon\":{", "\"status\":\"UP\"");
      assertThat(get(url + "/actuator/metrics/carillon.worker.tasks")).contains("completed");
    }
  }

  private static TaskView ended(UUID id) {
    return await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> carillon.task(id).orElseThrow(), task -> task.status().isTerminal());
  }

  private static TaskStatus status(UUID id) {
    return carillon.task(id).orElseThrow().status();
  }

  private static String post(String url, String json) throws Exception {
    return send(
        HttpRequest.newBuilder(URI.create(url))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json)));
  }

  private static String get(String url) throws Exception {
    return send(HttpRequest.newBuilder(URI.create(url)));
  }

  private static String send(HttpRequest.Builder request) throws Exception {
    var answer = HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
    return answer.statusCode() + " " + answer.body();
  }
}
