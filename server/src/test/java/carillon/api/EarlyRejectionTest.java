package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A request that is rejected before its body is read gets one response. Then the connection is
 * closed, and no byte of the body is taken for a request.
 */
class EarlyRejectionTest {

  private static final String JSON = "Content-Type: application/json\r\n";
  private static final String SMUGGLED =
      "GET /health/live HTTP/1.1\r\nHost: x\r\nX-Smuggled: yes\r\n\r\n";
  private static final String NEXT = "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n";

  private static TestApi api;
  private static String viewer;

  @BeforeAll
  static void start() {
    api = TestApi.start();
    viewer = api.key("refused", "viewer");
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  private static String auth(String key) {
    return "Authorization: Bearer " + key + "\r\n";
  }

  /** A request that is rejected whatever its body is. */
  record Rejection(String name, int status, String line, String headers) {}

  static List<Rejection> rejections() {
    String admin = auth(TestApi.ADMIN_KEY);
    return List.of(
        new Rejection("no key", 401, "POST /v1/tasks", JSON),
        new Rejection("a wrong key", 401, "POST /v1/tasks/batch", JSON + auth("no-such-key")),
        new Rejection("a role without the permission", 403, "POST /v1/tasks", JSON + auth(viewer)),
        new Rejection("an unknown path", 404, "POST /v1/nothing", JSON + admin),
        new Rejection("an unknown file", 400, "GET /ui/nothing.js", ""),
        new Rejection("an unsupported method", 405, "PUT /v1/tasks", JSON + admin),
        new Rejection("PUT of a file", 405, "PUT /ui/app.js", ""),
        new Rejection("not JSON", 415, "POST /v1/tasks", "Content-Type: text/plain\r\n" + admin),
        new Rejection(
            "a compressed body",
            415,
            "POST /v1/tasks",
            JSON + admin + "Content-Encoding: gzip\r\n"),
        new Rejection("an unknown parameter", 400, "POST /v1/tasks?no=1", JSON + admin),
        new Rejection("a URL that is not UTF-8", 400, "POST /v1/tasks?a=%ff", JSON + admin),
        new Rejection("a key in the URL", 400, "POST /v1/tasks?token=a", JSON + admin),
        new Rejection("a bad id", 400, "POST /v1/tasks/no/cancel", admin),
        new Rejection("GET with a body", 400, "GET /health/live", ""),
        new Rejection("HEAD with a body", 400, "HEAD /health/live", ""),
        new Rejection("DELETE with a body", 400, "DELETE /v1/keys/x", admin),
        new Rejection("a stream with a body", 400, "GET /v1/events", admin),
        new Rejection("the dashboard with a body", 400, "GET /", ""),
        new Rejection("a long URL", 414, "POST /v1/tasks?key=" + "a".repeat(9000), JSON + admin),
        new Rejection("many headers", 431, "POST /v1/tasks", JSON + "X-A: b\r\n".repeat(101)),
        new Rejection("two hosts", 400, "POST /v1/tasks", "Host: y\r\n" + JSON + admin),
        new Rejection("another version", 505, "POST /v1/tasks", "(version)"));
  }

  /** A rejection and the framing of its body. */
  private record Sent(
      Rejection rejection, boolean chunked, boolean expects, boolean pipelined, boolean later) {

    String head() {
      boolean is505 = rejection.headers().equals("(version)");
      return rejection.line()
          + (is505 ? " HTTP/1.7" : " HTTP/1.1")
          + "\r\nHost: x\r\n"
          + (is505 ? "" : rejection.headers())
          + (expects ? "Expect: 100-continue\r\n" : "")
          + (chunked
              ? "Transfer-Encoding: chunked\r\n"
              : "Content-Length: " + SMUGGLED.length() + "\r\n")
          + "\r\n";
    }

    String rest() {
      String body =
          chunked
              ? Integer.toHexString(SMUGGLED.length()) + "\r\n" + SMUGGLED + "\r\n0\r\n\r\n"
              : SMUGGLED;
      return body + (pipelined ? NEXT + NEXT : "");
    }

    @Override
    public String toString() {
      return rejection.name()
          + (chunked ? ", chunked" : ", length")
          + (expects ? ", Expect" : "")
          + (pipelined ? ", pipelined" : "")
          + (later ? ", body later" : "");
    }
  }

  @ParameterizedTest
  @MethodSource("rejections")
  void a_rejected_request_gets_one_response_and_its_connection_is_closed(Rejection rejection)
      throws IOException {
    for (int i = 0; i < 16; i++) {
      check(new Sent(rejection, (i & 1) > 0, (i & 2) > 0, (i & 4) > 0, (i & 8) > 0));
    }
  }

  private static void check(Sent sent) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(5_000); // less than the timeout of a silent client
      String response = "";
      if (sent.later()) {
        write(socket, sent.head());
        response = readSome(socket);
        write(socket, sent.rest());
      } else {
        write(socket, sent.head() + sent.rest());
      }
      response += readToEnd(socket);

      assertThat(response)
          .as(sent.toString())
          .startsWith("HTTP/1.1 " + sent.rejection().status())
          .doesNotContainPattern("(?s)HTTP/1.1 [0-9].*HTTP/1.1 [0-9]")
          .contains("\r\nConnection: close\r\n")
          .doesNotContain("keep-alive");
    }
  }

  private static void write(Socket socket, String text) throws IOException {
    try {
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
    } catch (SocketException e) {
      // The server has closed the connection, as it should.
    }
  }

  private static String readSome(Socket socket) throws IOException {
    byte[] buffer = new byte[8192];
    int read = socket.getInputStream().read(buffer);
    return read < 0 ? "" : new String(buffer, 0, read, StandardCharsets.ISO_8859_1);
  }

  private static String readToEnd(Socket socket) throws IOException {
    StringBuilder all = new StringBuilder();
    InputStream in = socket.getInputStream();
    byte[] buffer = new byte[8192];
    try {
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        all.append(new String(buffer, 0, read, StandardCharsets.ISO_8859_1));
      }
    } catch (SocketException e) {
      // A reset after the response: later bytes reached a closed connection.
    }
    return all.toString();
  }

  @Test
  void a_client_that_sends_all_of_a_large_rejected_body_gets_its_response() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(5_000);
      write(
          socket,
          "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n" + JSON + "Content-Length: 3000000\r\n\r\n");
      socket.getOutputStream().write(new byte[3_000_000]); // everything before the response is read

      String response = readToEnd(socket);

      assertThat(response).startsWith("HTTP/1.1 401").containsOnlyOnce("HTTP/1.1 ");
      assertThat(response).endsWith("}");
    }
  }

  @Test
  void a_connection_stays_open_after_a_rejected_request_without_a_body() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(5_000);
      String none = "POST /v1/tasks HTTP/1.1\r\nHost: x\r\n\r\n";
      String empty = "POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
      write(socket, none + empty + NEXT.replace("Host", "Connection: close\r\nHost"));

      assertThat(readToEnd(socket).split("HTTP/1.1 ", -1))
          .satisfiesExactly(
              before -> assertThat(before).isEmpty(),
              first -> assertThat(first).startsWith("401").contains("keep-alive"),
              second -> assertThat(second).startsWith("401").contains("keep-alive"),
              third -> assertThat(third).startsWith("200").contains("Connection: close"));
    }
  }

  @Test
  void a_connection_stays_open_after_a_body_that_was_read() throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(5_000);
      String head =
          "POST /v1/tasks HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
              + JSON
              + auth(TestApi.ADMIN_KEY);
      write(
          socket,
          head
              + "Content-Length: 2\r\n\r\n{}"
              + head
              + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
              + NEXT.replace("Host", "Connection: close\r\nHost"));

      assertThat(readToEnd(socket).split("HTTP/1.1 ", -1))
          .extracting(each -> each.substring(0, Math.min(3, each.length())))
          .containsExactly("", "100", "422", "100", "422", "200");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "application/json, /v1/tasks, '{\"type\":\"accepted\",\"target\":{\"pull\":{}}}'",
    "application/json, /v1/tasks/batch,"
        + " '{\"tasks\":[{\"type\":\"accepted\",\"target\":{\"pull\":{}}}]}'",
    "application/x-ndjson, /v1/tasks/batch, '{\"type\":\"accepted\",\"target\":{\"pull\":{}}}'"
  })
  void a_connection_stays_open_after_a_body_that_was_accepted(String type, String path, String body)
      throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), api.port())) {
      socket.setSoTimeout(5_000);
      String head =
          "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\n".formatted(path, type)
              + auth(TestApi.ADMIN_KEY);
      String size = Integer.toHexString(body.length());
      write(
          socket,
          head
              + "Content-Length: %d\r\n\r\n%s".formatted(body.length(), body)
              + head
              + "Transfer-Encoding: chunked\r\n\r\n%s\r\n%s\r\n0\r\n\r\n".formatted(size, body)
              + NEXT.replace("Host", "Connection: close\r\nHost"));

      assertThat(readToEnd(socket).split("HTTP/1.1 ", -1))
          .extracting(each -> each.substring(0, Math.min(3, each.length())))
          .containsExactly("", "202", "202", "200");
    }
  }
}
