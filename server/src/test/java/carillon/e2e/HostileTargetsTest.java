package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.testkit.Postgres;
import carillon.testkit.RawReceiver;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Delivers to targets that try to exhaust or redirect the program. */
class HostileTargetsTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(2);
  private static final int ROUNDS = 20;
  private static final long TWO_GIGABYTES = 2L << 30;

  @RegisterExtension static final Servers servers = new Servers();

  private static ServerProcess server;

  @BeforeAll
  static void start() {
    server = servers.startOn(Postgres.freshDatabase(), "--allow-targets", "127.0.0.2");
  }

  @Test
  void a_target_cannot_outlast_the_timeout_or_redirect_a_delivery() throws Exception {
    try (Carillon api = server.connect();
        Receiver inside = Receiver.start();
        RawReceiver trickling =
            at127002(wire -> wire.trickle("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", 1_000));
        RawReceiver silent = at127002(RawReceiver.Wire::awaitClose);
        RawReceiver redirecting =
            at127002(
                wire ->
                    wire.respondToAll(
                        "HTTP/1.1 302 Found\r\nLocation: "
                            + inside.url("/secret")
                            + "\r\nContent-Length: 0\r\n\r\n"))) {
      String trickled = create(api, trickling);
      String unanswered = create(api, silent);
      String redirected = create(api, redirecting);

      assertThat(awaitEnd(api, trickled).path("status").asString()).isEqualTo("DEAD");
      assertThat(awaitEnd(api, unanswered).path("status").asString()).isEqualTo("DEAD");
      assertThat(awaitEnd(api, unanswered).at("/error/kind").asString()).isEqualTo("timeout");
      assertThat(awaitEnd(api, redirected).path("status").asString()).isEqualTo("DEAD");
      assertThat(inside.count()).as("redirects followed").isZero();
    }
  }

  @Test
  void a_response_of_two_gigabytes_does_not_grow_memory() throws Exception {
    String chunk = "x".repeat(1 << 16);
    try (Carillon api = server.connect();
        RawReceiver huge =
            at127002(
                wire -> {
                  wire.read();
                  wire.send("HTTP/1.1 200 OK\r\nContent-Length: " + TWO_GIGABYTES + "\r\n\r\n");
                  for (long sent = 0; sent < TWO_GIGABYTES; sent += chunk.length()) {
                    wire.send(chunk);
                  }
                })) {
      assertThat(awaitEnd(api, create(api, huge)).path("status").asString()).isEqualTo("COMPLETED");
      long before = server.residentBytes();
      for (int i = 0; i < ROUNDS; i++) {
        JsonNode task = awaitEnd(api, create(api, huge));
        assertThat(task.path("status").asString()).isEqualTo("COMPLETED");
        assertThat(task.path("output").asString().length()).isLessThanOrEqualTo(4096);
      }
      long grown = server.residentBytes() - before;

      System.out.printf(
          "hostile: %d responses of 2 GB, of which %d MB were sent, grew memory by %d MB%n",
          ROUNDS, huge.bytesSent() >> 20, grown >> 20);
      assertThat(grown).as("growth of memory in bytes").isLessThan(64L << 20);
    }
  }

  private static RawReceiver at127002(RawReceiver.Behaviour behaviour) {
    return RawReceiver.at(new InetSocketAddress("127.0.0.2", 0), behaviour);
  }

  private static String create(Carillon api, RawReceiver target) {
    return api.post(
            "/v1/tasks",
            Map.of(
                "type",
                "hostile",
                "target",
                Map.of(
                    "http",
                    Map.of(
                        "url",
                        "http://127.0.0.2:" + target.port() + "/",
                        "timeout",
                        TIMEOUT.toString())),
                "retry",
                Map.of("maxAttempts", 1)))
        .path("id")
        .asString();
  }

  /** Waits for the task to end, and checks that it did so soon after the attempt's deadline. */
  private static JsonNode awaitEnd(Carillon api, String task) {
    await()
        .atMost(TIMEOUT.plusSeconds(30))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> !api.get("/v1/tasks/" + task).path("finishedAt").isNull());
    JsonNode ended = api.get("/v1/tasks/" + task);
    Instant started = Instant.parse(ended.path("startedAt").asString());
    Instant finished = Instant.parse(ended.path("finishedAt").asString());
    assertThat(Duration.between(started, finished))
        .as("duration of the attempt")
        .isLessThan(TIMEOUT.plusSeconds(5));
    return ended;
  }
}
