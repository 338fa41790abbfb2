package carillon.api.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.api.TestApi;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Clients that read a large response slowly, or not at all. */
class SlowReadersTest {

  private static final int TASKS = 16;
  private static final int PAYLOAD = 250_000;

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.withClients(Duration.ofSeconds(1), new SlowClients.Max(16, 8, 2));
    for (int i = 0; i < TASKS; i++) {
      api.task(
          "{\"type\": \"t\", \"delay\": \"1h\", \"payload\": \"" + "x".repeat(PAYLOAD) + "\"}");
    }
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  /** Requests all tasks with their payloads, which are larger than any send buffer. */
  private static Socket requestAllTasks() throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(32 << 10);
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), api.port()));
    socket.setSoTimeout(15_000);
    String request =
        "GET /v1/tasks?view=full HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            + "Authorization: Bearer %s\r\n\r\n".formatted(TestApi.ADMIN_KEY);
    socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  private static double dropped() {
    return api.metrics
        .get("carillon.connections.dropped")
        .tag("reason", "slow_reader")
        .counter()
        .count();
  }

  @Test
  void a_client_that_reads_slowly_but_steadily_gets_the_whole_response() throws IOException {
    try (Socket socket = requestAllTasks()) {
      InputStream in = socket.getInputStream();
      double droppedBefore = dropped();
      long started = System.nanoTime();
      long taken = 0;
      int some;
      do {
        some = in.readNBytes(32 << 10).length;
        taken += some;
        await().pollDelay(Duration.ofMillis(80)).until(() -> true);
      } while (some > 0);

      assertThat(taken).isGreaterThan(TASKS * PAYLOAD);
      assertThat(Duration.ofNanos(System.nanoTime() - started))
          .isGreaterThan(Duration.ofSeconds(2));
      assertThat(dropped()).isEqualTo(droppedBefore);
    }
  }

  @Test
  void a_client_that_reads_nothing_is_cut_off() throws IOException {
    double droppedBefore = dropped();
    try (Socket _ = requestAllTasks()) {
      await().until(() -> dropped() == droppedBefore + 1);
    }
  }
}
