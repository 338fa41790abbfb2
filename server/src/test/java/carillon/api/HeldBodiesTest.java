package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.testkit.Postgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The memory that running requests hold for their bodies. */
class HeldBodiesTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static double held() {
    return api.metrics.get("carillon.body.memory").gauge().value();
  }

  @Test
  void a_request_without_a_body_holds_nothing() throws Exception {
    String id = api.task("{\"type\":\"t\",\"delay\":\"1h\"}");
    try (Connection other = Postgres.connect(api.world.address);
        Statement statement = other.createStatement()) {
      other.setAutoCommit(false);
      statement.execute("LOCK TABLE carillon.task IN ACCESS EXCLUSIVE MODE");
      CompletableFuture<TestApi.Reply> reply =
          CompletableFuture.supplyAsync(() -> api.get("/v1/tasks/" + id).send());
      await().until(HeldBodiesTest::isWaitingForALock);

      double held = held();
      other.rollback();

      assertThat(held).isZero();
      reply.get(10, TimeUnit.SECONDS).expect(200);
    }
  }

  private static boolean isWaitingForALock() {
    return api.world
        .value(
            """
            SELECT count(*)
            FROM pg_locks l
            JOIN pg_database d ON d.oid = l.database
            WHERE d.datname = current_database() AND NOT l.granted
            """)
        .equals("1");
  }

  /** The metrics are written by a running request and would show the memory that it holds. */
  @Test
  void a_request_without_a_caller_holds_nothing() {
    await().until(() -> held() == 0);

    String shown = api.request("GET", "/metrics").send().expect(200).body();

    assertThat(shown.lines().filter(line -> line.startsWith("carillon_body_memory_bytes ")))
        .containsExactly("carillon_body_memory_bytes 0.0");
  }

  @ParameterizedTest
  @ValueSource(strings = {"application/json", "application/x-ndjson"})
  void a_body_holds_memory_for_received_bytes_not_for_its_content_length(String type)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket
          .getOutputStream()
          .write(
              ("POST /v1/tasks/batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                      + "Content-Type: %s\r\nContent-Length: 60000000\r\n\r\n ")
                  .formatted(TestApi.ADMIN_KEY, type)
                  .getBytes(StandardCharsets.US_ASCII));
      await().until(() -> held() > 0);

      assertThat(held()).isLessThan(100_000);
    }
    await().until(() -> held() == 0);
  }
}
