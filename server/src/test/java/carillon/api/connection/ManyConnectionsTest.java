package carillon.api.connection;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Too many slow clients on a server with few connections and short timeouts. */
@Tag("slow")
class ManyConnectionsTest {

  private static final String LIVE = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";
  private static final String AUTH = "Authorization: Bearer " + TestApi.ADMIN_KEY + "\r\n";
  private static final String UPLOAD =
      "POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + AUTH;
  private static final String BATCH =
      "POST /v1/tasks/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n" + AUTH;

  private static TestApi api;
  private final List<Socket> sockets = new ArrayList<>();

  @BeforeAll
  static void start() {
    api = TestApi.withClients(Duration.ofSeconds(1), new SlowClients.Max(16, 8, 2));
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  @AfterEach
  void close() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
    Awaitility.await().until(() -> api.metrics.get("carillon.connections").gauge().value() == 0);
  }

  private Socket connect(String from) throws IOException {
    Socket socket = new Socket();
    sockets.add(socket);
    socket.bind(new InetSocketAddress(from, 0));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), api.port()));
    socket.setSoTimeout(5_000);
    return socket;
  }

  private Socket connect() throws IOException {
    return connect("127.0.0.1");
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  /**
   * Returns the first line of the next response, or an empty string if the connection is closed.
   */
  private static String status(Socket socket) throws IOException {
    StringBuilder line = new StringBuilder();
    InputStream in = socket.getInputStream();
    for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
      line.append((char) next);
    }
    return line.toString().strip();
  }

  private static String readToEnd(Socket socket) throws IOException {
    return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
  }

  private Socket openStream(String from) throws IOException {
    Socket socket = connect(from);
    write(socket, "GET /v1/events HTTP/1.1\r\nHost: x\r\n" + AUTH + "\r\n");
    assertThat(status(socket)).endsWith("200 OK");
    return socket;
  }

  private static double dropped(ClientConnection.Drop reason) {
    return api.metrics
        .get("carillon.connections.dropped")
        .tag("reason", reason.label())
        .counter()
        .count();
  }

  @Test
  void health_checks_succeed_while_an_address_uses_all_its_connections() throws IOException {
    for (int i = 0; i < 100; i++) {
      connect();
    }

    Socket check = connect();
    write(check, LIVE);

    assertThat(status(check)).isEqualTo("HTTP/1.1 200 OK");
  }

  @Test
  void only_health_checks_succeed_while_every_connection_is_busy() throws IOException {
    for (int i = 0; i < 16; i++) {
      openStream("127.0.0." + (1 + i / 8));
    }
    for (String path : List.of("/health/live", "/health/ready", "/metrics")) {
      for (String from : List.of("127.0.0.1", "127.0.0.3")) {
        Socket check = connect(from);
        write(check, LIVE.replace("/health/live", path));
        String answer = readToEnd(check);
        assertThat(answer).startsWith("HTTP/1.1 200").contains("Connection: close");
      }
    }

    Socket create = connect();
    write(create, UPLOAD + "Content-Length: 2\r\n\r\n{}");

    assertThat(readToEnd(create))
        .startsWith("HTTP/1.1 503")
        .containsOnlyOnce("HTTP/1.1 ")
        .contains("overloaded", "Connection: close", "Retry-After: 1");
  }

  @Test
  void a_body_that_stalls_gets_408_and_the_connection_is_closed() throws IOException {
    Socket length = connect();
    Socket chunked = connect();
    Socket expects = connect();
    write(length, UPLOAD + "Content-Length: 100\r\n\r\n{");
    write(chunked, UPLOAD + "Transfer-Encoding: chunked\r\n\r\n5\r\n{");
    write(expects, UPLOAD + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n");

    for (Socket each : List.of(length, chunked)) {
      assertThat(readToEnd(each))
          .startsWith("HTTP/1.1 408")
          .contains("request_timeout", "Connection: close");
    }
    assertThat(readToEnd(expects)).startsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 408");
    Awaitility.await().until(() -> dropped(ClientConnection.Drop.STALLED_BODY) >= 3);
  }

  @Test
  void a_head_that_stalls_gets_408_and_a_silent_connection_is_closed() throws IOException {
    Socket head = connect();
    Socket idle = connect();
    write(head, "GET /health/live HTTP/1.1\r\nHost:");
    write(idle, LIVE);
    assertThat(status(idle)).isEqualTo("HTTP/1.1 200 OK");

    assertThat(readToEnd(head)).startsWith("HTTP/1.1 408").contains("Connection: close");
    assertThat(readToEnd(idle)).doesNotContain("HTTP/1.1");
  }

  @Test
  void a_large_body_that_trickles_gets_408_and_one_that_flows_does_not() throws IOException {
    Socket trickles = connect();
    write(trickles, BATCH + "Content-Length: 60000000\r\n\r\n");
    trickles.setSoTimeout(100); // the pause between two bytes
    String answer = "";
    for (int i = 0; i < 100 && answer.isEmpty(); i++) {
      try {
        write(trickles, " ");
        answer = status(trickles);
      } catch (java.net.SocketTimeoutException e) {
        // not yet
      }
    }
    assertThat(answer).startsWith("HTTP/1.1 408");
    // Counted only after its input is shut down, so the response may arrive first.
    Awaitility.await().until(() -> dropped(ClientConnection.Drop.SLOW_BODY) == 1);

    Socket flows = connect();
    write(flows, BATCH + "Content-Length: 240000\r\n\r\n");
    flows.setSoTimeout(100);
    for (int i = 0; i < 24; i++) {
      write(flows, " ".repeat(9_999) + "\n");
      Awaitility.await().pollDelay(Duration.ofMillis(100)).until(() -> true);
    }
    flows.setSoTimeout(5_000);
    assertThat(status(flows)).isNotEqualTo("HTTP/1.1 408 Request Timeout");
  }

  @Test
  void a_response_that_is_not_read_closes_the_connection() throws IOException {
    Socket nonReader = connect();
    nonReader.setSoTimeout(10_000);
    write(nonReader, "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100));

    Awaitility.await().until(() -> dropped(ClientConnection.Drop.SLOW_READER) == 1);
  }

  @Test
  void open_and_dropped_connections_are_counted() throws IOException {
    Socket socket = connect();
    write(socket, LIVE);
    assertThat(status(socket)).isEqualTo("HTTP/1.1 200 OK");

    assertThat(api.metrics.get("carillon.connections").gauge().value()).isEqualTo(1);
    assertThat(api.metrics.scrape())
        .contains(
            "carillon_connections 1.0", "carillon_connections_dropped_total{reason=\"idle\"}");
  }
}
