package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that only a raw socket can send. */
class ProtocolTest {

  private static final String AUTH = "Authorization: Bearer " + TestApi.ADMIN_KEY + "\r\n";
  private static final String JSON = "Content-Type: application/json\r\n";

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  /** Sends the text and reads until the server closes. */
  private static String exchange(String text) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(15_000);
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      socket.shutdownOutput();
      return readAll(socket);
    }
  }

  private static String readAll(Socket socket) throws IOException {
    StringBuilder response = new StringBuilder();
    byte[] buffer = new byte[8192];
    try {
      InputStream in = socket.getInputStream();
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        response.append(new String(buffer, 0, read, StandardCharsets.ISO_8859_1));
      }
    } catch (SocketException e) {
      response.append("(reset)"); // closed while the test was still sending
    }
    return response.toString();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST /v1/tasks HTTP/1.1~Host: x~Content-Length: 2~Content-Length: 3~~{}x       | 400 |"
            + " bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Content-Length: 2~Content-Length: 2~~{}        | 400 |"
            + " bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Content-Length: 3~Transfer-Encoding: chunked~~0~~ | 400 |"
            + " bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Transfer-Encoding: gzip, chunked~~0~~          | 400 |"
            + " bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Transfer-Encoding: chunked~Transfer-Encoding: chunked~~0~~"
            + " | 400 | bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Content-Length: -1~~                           | 400 |"
            + " bad_request",
        "POST /v1/tasks HTTP/1.1~Host: x~Content-Length: 99999999999999999999~~         | 400 |"
            + " bad_request",
        "G\u00ebT /v1/tasks HTTP/1.1~Host: x~~ | 400 | bad_request",
        "GET /v1/tasks?key=%zz HTTP/1.1~Host: x~~ | 400 | bad_request",
        "GET /v1/tasks HTTP/1.1~~                                                       | 400 |"
            + " bad_request",
        "GET /v1/tasks HTTP/1.1~Host: x~Bad Header: y~~                                 | 400 |"
            + " bad_request",
      })
  void an_ambiguous_request_is_rejected_and_its_connection_closed(
      String text, int status, String code) throws IOException {
    String response = exchange(text.replace("~", "\r\n"));

    assertThat(response).startsWith("HTTP/1.1 " + status).containsOnlyOnce("HTTP/1.1");
    assertThat(response).contains("\"code\":\"" + code + "\"").contains("application/problem+json");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://other.example/v1/me",
        "HTTPS://x:8443/v1/me",
        "http://[::1]/v1/me",
        "/v1/me"
      })
  void an_absolute_url_is_handled_like_its_path(String url) throws IOException {
    assertThat(exchange("GET " + url + " HTTP/1.1\r\nHost: x\r\n" + AUTH + "\r\n"))
        .startsWith("HTTP/1.1 200")
        .contains("\"tenant\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"GET /v1/tasks HTTP/1.1\nHost: x\n\n", "GET /v1/tasks\r\n\r\n", "HELLO\r\n\r\n"})
  void bytes_that_are_not_http_are_rejected(String text) throws IOException {
    assertThat(exchange(text))
        .startsWith("HTTP/1.1 400")
        .containsOnlyOnce("HTTP/1.1 ")
        .contains("Connection: close")
        .contains("application/problem+json");
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET / HTTP/9.9\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"})
  void an_unsupported_http_version_is_rejected(String text) throws IOException {
    assertThat(exchange(text))
        .startsWith("HTTP/1.1 505")
        .containsOnlyOnce("HTTP/1.1 505")
        .contains("\"code\":\"http_version_not_supported\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /health/live HTTP/1.0\r\n\r\n",
        "GET /health/ready HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
        "HEAD /health/live HTTP/1.0\r\nUser-Agent: check\r\n\r\n",
        "GET /metrics HTTP/1.0\r\nExpect: 100-continue\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "\r\nGET /ui/docs.css HTTP/1.0\r\n\r\n"
      })
  void an_http_1_0_request_gets_a_response_and_its_connection_is_closed(String text)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      socket.setSoTimeout(7_000); // less than the timeout of an idle connection

      assertThat(readAll(socket))
          .startsWith("HTTP/1.1 200")
          .containsOnlyOnce("HTTP/1.1 ")
          .contains("Connection: close\r\n")
          .doesNotContain("Transfer-Encoding");
    }
  }

  @Test
  void an_http_1_0_body_has_a_length_and_is_rejected_if_chunked() throws IOException {
    String head = "POST /v1/tasks HTTP/1.0\r\nExpect: 100-continue\r\n" + AUTH + JSON;

    assertThat(exchange(head + "Content-Length: 1\r\n\r\n["))
        .startsWith("HTTP/1.1 400")
        .contains("invalid_json");
    assertThat(exchange(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("bad_request");
  }

  @Test
  void a_stream_needs_http_1_1() throws IOException {
    assertThat(exchange("GET /v1/events HTTP/1.0\r\n" + AUTH + "\r\n"))
        .startsWith("HTTP/1.1 505")
        .contains("http_version_not_supported");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/v1/tasks?key=%ff",
        "/v1/tasks?key=%c3%28",
        "/v1/tasks?key=%ed%a0%80",
        "/v1/tasks?key=%c0%80",
        "/v1/tasks?%ff=a",
        "/v1/tasks?key=a%",
        "/v1/tasks?key=a%4",
        "/v1/tasks?key=%zz",
        "/v1/tasks/%ff",
        "/v1/types/a%e2%82",
        "/v1/types/a%zz",
        "/nothing/%ff",
        "/v1/tasks/%"
      })
  void a_url_that_is_not_percent_encoded_utf_8_is_rejected(String url) throws IOException {
    assertThat(exchange("GET " + url + " HTTP/1.1\r\nHost: x\r\n" + AUTH + "\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("application/problem+json");
  }

  @Test
  void a_bare_line_feed_between_headers_is_rejected() throws IOException {
    String response = exchange("GET /v1/tasks HTTP/1.1\r\nHost: x\nX-A: b\n\n\r\n\r\n");

    assertThat(response).startsWith("HTTP/1.1 400").contains("application/problem+json");
  }

  @Test
  void more_than_a_hundred_headers_are_rejected() throws IOException {
    String response =
        exchange("GET /health/live HTTP/1.1\r\nHost: x\r\n" + "X-A: b\r\n".repeat(100) + "\r\n");

    assertThat(response).startsWith("HTTP/1.1 431");
  }

  @Test
  void a_long_url_and_long_headers_are_rejected() throws IOException {
    String url =
        exchange("GET /v1/tasks?key=" + "a".repeat(16_000) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    String header =
        exchange("GET /v1/tasks HTTP/1.1\r\nHost: x\r\nX-A: " + "a".repeat(64_000) + "\r\n\r\n");

    assertThat(url).startsWith("HTTP/1.1 414").contains("uri_too_long");
    assertThat(header).startsWith("HTTP/1.1 431").contains("headers_too_large");
  }

  @Test
  void a_body_that_is_too_long_is_rejected_before_it_is_sent() throws IOException {
    String head = "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n" + AUTH + JSON;

    assertThat(exchange(head + "Content-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"))
        .startsWith("HTTP/1.1 413")
        .contains("body_too_large");
    assertThat(exchange(head + "Content-Length: 99999999999\r\n\r\n")).startsWith("HTTP/1.1 413");
  }

  @Test
  void an_invalid_chunked_body_is_rejected() throws IOException {
    String head =
        "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n"
            + AUTH
            + JSON
            + "Transfer-Encoding: chunked\r\n\r\n";

    assertThat(exchange(head + "zz\r\n{}\r\n0\r\n\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("bad_request");
    assertThat(exchange(head + "-5\r\n{}\r\n0\r\n\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("bad_request");
    assertThat(exchange(head + "2\r\n{}XX0\r\n\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("a chunk does not end with CR LF");
    assertThat(exchange(head + "2\r\n{}\r\n0\r\n: x\r\n\r\n"))
        .startsWith("HTTP/1.1 400")
        .contains("a trailer line");
  }

  @Test
  void chunk_extensions_and_trailers_are_skipped() throws IOException {
    String response =
        exchange(
            "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n"
                + AUTH
                + JSON
                + "Transfer-Encoding: chunked\r\n\r\n"
                + "1;name=\"a;b\"\r\n[\r\n001\r\nx\r\n0;x\r\nX-Sum: 1\r\n\r\n"
                + "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n");

    assertThat(response).startsWith("HTTP/1.1 400").contains("invalid_json", "HTTP/1.1 200");
  }

  @Test
  void bytes_after_a_rejected_request_are_not_read() throws IOException {
    String smuggled =
        """
        POST /v1/tasks HTTP/1.1
        Host: x
        Content-Length: 4
        Transfer-Encoding: chunked

        0

        GET /health/live HTTP/1.1
        Host: x

        """
            .replace("\n", "\r\n");

    assertThat(exchange(smuggled)).containsOnlyOnce("HTTP/1.1 ").startsWith("HTTP/1.1 400");
  }

  @Test
  void slow_silent_and_non_reading_clients_are_disconnected_within_ten_seconds() throws Exception {
    List<Callable<Duration>> clients =
        List.of(
            ProtocolTest::timeUntilNonReaderIsDropped,
            () -> timeUntilClosed("", ""),
            () -> timeUntilClosed("", "GET /v1/tasks HTTP/1.1\r\n"),
            () ->
                timeUntilClosed(
                    "GET /v1/tasks HTTP/1.1\r\nHost: x\r\nX-Slow: ",
                    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            () -> timeUntilClosed("GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", ""),
            () ->
                timeUntilClosed(
                    "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n"
                        + AUTH
                        + JSON
                        + "Content-Length: 100\r\n\r\n{",
                    ""));
    List<Future<Duration>> times = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      clients.forEach(client -> times.add(threads.submit(client)));
    }

    for (int i = 0; i < times.size(); i++) {
      assertThat(times.get(i).get()).as("client %d", i).isLessThan(Duration.ofSeconds(11));
    }
  }

  /** Sends the first part immediately and the rest one byte per second. */
  private static Duration timeUntilClosed(String atOnce, String slowly) throws IOException {
    long start = System.nanoTime();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.getOutputStream().write(atOnce.getBytes(StandardCharsets.ISO_8859_1));
      socket.setSoTimeout(
          slowly.isEmpty() ? 30_000 : 1_000); // the read timeout is the pause between two bytes
      for (byte next : slowly.getBytes(StandardCharsets.ISO_8859_1)) {
        if (writeAndAwaitClose(socket, next)) {
          break;
        }
      }
      if (slowly.isEmpty()) {
        readUntilClosedOrTimeout(socket);
      }
      return Duration.ofNanos(System.nanoTime() - start);
    }
  }

  /** Requests more data than all buffers hold, and reads none of it. */
  private static Duration timeUntilNonReaderIsDropped() throws IOException {
    long start = System.nanoTime();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      String request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
      socket.getOutputStream().write(request.repeat(500).getBytes(StandardCharsets.US_ASCII));
      Awaitility.await()
          .atMost(Duration.ofSeconds(30))
          .pollInterval(Duration.ofMillis(500))
          .until(() -> !tryWrite(socket));
      return Duration.ofNanos(System.nanoTime() - start);
    }
  }

  private static boolean tryWrite(Socket socket) {
    try {
      socket.getOutputStream().write('\r');
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private static void readUntilClosedOrTimeout(Socket socket) throws IOException {
    try {
      readAll(socket);
    } catch (SocketTimeoutException e) {
      // Measured by the caller.
    }
  }

  private static boolean writeAndAwaitClose(Socket socket, byte next) {
    try {
      socket.getOutputStream().write(next);
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true;
    }
  }
}
