package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.JsonNodeFactory;

@Timeout(30)
class LeaseRenewerTest {

  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final Duration LEASE = Duration.ofSeconds(30);

  private final BlockingQueue<String> bodies = new LinkedBlockingQueue<>();
  private final List<HeldTask> held = new ArrayList<>();
  private volatile boolean rejectsProgress;
  private HttpServer server;
  private Carillon carillon;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          String text = new String(body, StandardCharsets.UTF_8);
          boolean isRejected =
              body.length > 1 << 20 || (rejectsProgress && text.contains("progress"));
          byte[] response = (isRejected ? "{}" : renewed(text)).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(isRejected ? 422 : 200, response.length);
          exchange.getResponseBody().write(response);
          exchange.close();
          bodies.add(text);
        });
    server.start();
    carillon = Carillon.connect("http://127.0.0.1:" + server.getAddress().getPort(), "key");
  }

  @AfterEach
  void stop() {
    carillon.close();
    server.stop(0);
  }

  private static String renewed(String body) {
    List<Map<String, String>> leases = new ArrayList<>();
    JSON.readTree(body)
        .path("leases")
        .forEach(lease -> leases.add(Map.of("id", lease.path("id").asString(), "result", "ok")));
    return JSON.writeValueAsString(Map.of("leases", leases));
  }

  private void hold(int tasks, String progress) {
    for (int i = 0; i < tasks; i++) {
      var task =
          new ClaimedTask(
              UUID.randomUUID(),
              "t",
              null,
              1,
              1,
              Instant.EPOCH,
              JsonNodeFactory.instance.nullNode(),
              "token",
              null,
              null,
              null);
      var one = new HeldTask(task, ending -> {}, JSON, Runnable::run, System.nanoTime());
      one.progress(progress);
      one.renewAgainAt(System.nanoTime());
      held.add(one);
    }
  }

  private LeaseRenewer startRenewer() {
    var settings = new Worker.Settings("w", Map.of(), 1, 1, LEASE, Duration.ZERO, false);
    return new LeaseRenewer(
        carillon,
        settings,
        () -> held,
        new LeaseRenewer.Observer() {
          @Override
          public void cancelled(HeldTask one) {}

          @Override
          public void lost(HeldTask one) {}
        },
        new WorkerListener() {});
  }

  private int takeLeases() throws InterruptedException {
    JsonNode body = JSON.readTree(bodies.take());
    return body.path("leases").size();
  }

  @Test
  void long_progress_texts_are_split_into_several_requests() throws InterruptedException {
    hold(500, "\u20ac".repeat(4096));
    LeaseRenewer renewer = startRenewer();

    int renewed = 0;
    while (renewed < held.size()) {
      assertThat(bodies.peek() == null ? "" : bodies.peek()).hasSizeLessThan(300_000);
      renewed += takeLeases();
    }
    renewer.close();

    assertThat(renewed).isEqualTo(500);
  }

  @Test
  void a_rejected_progress_text_loses_no_lease() throws InterruptedException {
    rejectsProgress = true;
    hold(3, "half");
    LeaseRenewer renewer = startRenewer();

    assertThat(bodies.take()).contains("half");
    assertThat(bodies.take()).doesNotContain("half").contains("token");
    renewer.close();
  }
}
