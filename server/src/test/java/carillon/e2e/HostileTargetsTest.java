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

/** Delivers to targets that try to harm the program. */
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
  void a_target_can_neither_hold_an_attempt_nor_lead_it_elsewhere() throws Exception {
    try (Carillon api = server.connect();
        Receiver inside = Receiver.start();
        RawReceiver trickling =
            at127002(wire -> wire.trickle("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", 1_000));
        RawReceiver silent = at127002(RawReceiver.Wire::awaitHangUp);
        RawReceiver redirecting =
            at127002(
                wire ->
                    wire.answerAll(
                        "HTTP/1.1 302 Found\r\nLocation: "
                            + inside.url("/secret")
                            + "\r\nContent-Length: 0\r\n\r\n"))) {
      String trickled = create(api, trickling);
      String unanswered = create(api, silent);
      String redirected = create(api, redirecting);

      assertThat(ended(api, trickled).path("status").asString()).isEqualTo("DEAD");
      assertThat(ended(api, unanswered).path("status").asString()).isEqualTo("DEAD");
      assertThat(ended(api, unanswered).at("/error/kind").asString()).isEqualTo("timeout");
      assertThat(ended(api, redirected).path("status").asString()).isEqualTo("DEAD");
      assertThat(inside.count()).as("redirects followed").isZero();
    }
  }

  @Test
  void an_answer_of_two_gigabytes_costs_no_memory() throws Exception {
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
      assertThat(ended(api, create(api, huge)).path("status").asString()).isEqualTo("COMPLETED");
      long before = server.residentBytes();
      for (int i = 0; i < ROUNDS; i++) {
        JsonNode task = ended(api, create(api, huge));
        assertThat(task.path("status").asString()).isEqualTo("COMPLETED");
        assertThat(task.path("output").asString().length()).isLessThanOrEqualTo(4096);
      }
      long grown = server.residentBytes() - before;

      System.out.printf(
          "hostile: %d answers of 2 GB, of which %d MB were sent, grew memory by %d MB%n",
          ROUNDS, huge.bytesSent() >> 20, grown >> 20);
      assertThat(grown).as("bytes of growth").isLessThan(64L << 20);
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

  /** The task once it has ended, which it must soon after its attempt's deadline. */
  private static JsonNode ended(Carillon api, String task) {
    await()
        .atMost(TIMEOUT.plusSeconds(30))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> !api.get("/v1/tasks/" + task).path("finishedAt").isNull());
    JsonNode ended = api.get("/v1/tasks/" + task);
    Instant started = Instant.parse(ended.path("startedAt").asString());
    Instant finished = Instant.parse(ended.path("finishedAt").asString());
    assertThat(Duration.between(started, finished))
        .as("the time that the attempt took")
        .isLessThan(TIMEOUT.plusSeconds(5));
    return ended;
  }
}
