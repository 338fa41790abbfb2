package carillon.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CarillonTest {

  private record Received(String line, Headers headers, String body) {}

  private final BlockingQueue<Received> received = new LinkedBlockingQueue<>();
  private volatile int status = 200;
  private volatile String answer = "{\"ok\": true}";
  private HttpServer server;
  private Carillon carillon;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String body =
              new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
          received.add(
              new Received(
                  exchange.getRequestMethod() + " " + exchange.getRequestURI(),
                  exchange.getRequestHeaders(),
                  body));
          byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
    server.start();
    carillon = Carillon.connect(url(), "secret");
  }

  @AfterEach
  void stop() {
    carillon.close();
    server.stop(0);
  }

  private URI url() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
  }

  private Received nextRequest() throws InterruptedException {
    return received.take();
  }

  private CarillonException failure() {
    return catchThrowableOfType(CarillonException.class, () -> carillon.get("/v1/tasks/1"));
  }

  @Test
  void each_method_is_one_request_with_the_key() throws InterruptedException {
    carillon.get("/v1/tasks?limit=1");
    carillon.post("/v1/tasks", Map.of("type", "t"));
    carillon.put("/v1/types/t", Map.of());
    carillon.patch("/v1/tasks/1", Map.of("priority", 9));
    carillon.delete("/v1/types/t");

    assertThat(nextRequest().line()).isEqualTo("GET /v1/tasks?limit=1");
    Received post = nextRequest();
    assertThat(post.line()).isEqualTo("POST /v1/tasks");
    assertThat(post.body()).isEqualTo("{\"type\":\"t\"}");
    assertThat(post.headers().getFirst("Content-Type")).isEqualTo("application/json");
    assertThat(post.headers().getFirst("Authorization")).isEqualTo("Bearer secret");
    assertThat(post.headers().getFirst("Carillon-Tenant")).isNull();
    assertThat(nextRequest().line()).isEqualTo("PUT /v1/types/t");
    assertThat(nextRequest().body()).isEqualTo("{\"priority\":9}");
    assertThat(nextRequest().line()).isEqualTo("DELETE /v1/types/t");
  }

  @Test
  void a_post_without_a_body_sends_none() throws InterruptedException {
    carillon.post("/v1/tasks/1/run", null);

    Received post = nextRequest();
    assertThat(post.body()).isEmpty();
    assertThat(post.headers().getFirst("Content-Type")).isNull();
  }

  @Test
  void the_tenant_and_the_idempotency_key_are_headers() throws InterruptedException {
    carillon.withTenant("other").post("/v1/tasks", Map.of(), "once");

    Received post = nextRequest();
    assertThat(post.headers().getFirst("Carillon-Tenant")).isEqualTo("other");
    assertThat(post.headers().getFirst("Idempotency-Key")).isEqualTo("once");
  }

  @Test
  void responses_are_json_empty_or_text() {
    assertThat(carillon.get("/").path("ok").asBoolean()).isTrue();

    answer = "";
    status = 204;
    assertThat(carillon.delete("/").isMissingNode()).isTrue();

    answer = "up 1\n";
    status = 200;
    assertThat(carillon.text("/metrics")).isEqualTo("up 1\n");
    assertThatThrownBy(() -> carillon.get("/metrics")).hasMessageContaining("is not JSON");
  }

  @Test
  void a_problem_document_becomes_an_exception() {
    status = 422;
    answer =
        "{\"title\": \"Invalid\", \"detail\": \"the task is invalid\", \"code\": \"invalid\","
            + " \"errors\": [{\"pointer\": \"/delay\", \"message\": \"is not a duration\"}]}";

    CarillonException e = failure();

    assertThat(e.status()).isEqualTo(422);
    assertThat(e.code()).isEqualTo("invalid");
    assertThat(e.detail()).isEqualTo("the task is invalid");
    assertThat(e.errors())
        .containsExactly(new CarillonException.Problem("/delay", "is not a duration"));
    assertThat(e).hasMessage("the task is invalid; /delay is not a duration");
  }

  @Test
  void an_error_in_the_detail_is_not_repeated() {
    status = 422;
    answer =
        "{\"detail\": \"/b/a: is required, and 2 more\", \"code\": \"required_field\", \"errors\":"
            + " [{\"pointer\": \"/a\", \"message\": \"is required\"},"
            + " {\"pointer\": \"/b/a\", \"message\": \"is required\"},"
            + " {\"pointer\": \"/c\", \"message\": \"is required\"}]}";

    assertThat(failure())
        .hasMessage("/b/a: is required, and 2 more; /a is required; /c is required");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "<html>", "[]", "{}", "\"x\"", "{\"errors\": 1}"})
  void an_error_without_a_problem_document_has_its_status(String body) {
    status = 502;
    answer = body;

    CarillonException e = failure();

    assertThat(e.status()).isEqualTo(502);
    assertThat(e.code()).isEqualTo("http-502");
    assertThat(e).hasMessage("HTTP 502");
  }

  @Test
  void redirects_are_not_followed() {
    status = 302;

    assertThat(failure().status()).isEqualTo(302);
  }

  @Test
  void an_unreachable_server_is_reported() {
    server.stop(0);

    CarillonException e = failure();

    assertThat(e.status()).isEqualTo(CarillonException.NO_ANSWER);
    assertThat(e.code()).isEqualTo("no-answer");
    assertThat(e).hasMessageStartingWith("cannot connect to http://127.0.0.1:");
  }

  @Test
  void a_key_is_stripped_and_never_shown() throws InterruptedException {
    try (Carillon fromFile = Carillon.connect(url(), "secret\n")) {
      fromFile.get("/");
    }

    assertThat(nextRequest().headers().getFirst("Authorization")).isEqualTo("Bearer secret");
    assertThatThrownBy(() -> Carillon.connect(url(), "very\nsecret"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("very");
  }

  @Test
  void a_lease_longer_than_the_server_allows_is_rejected() {
    WorkerBuilder worker = carillon.worker("w").lease(Duration.ofHours(24));

    assertThatThrownBy(() -> worker.lease(Duration.ofHours(25)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"ftp://x", "localhost:8080", "/x", "http:///x", "http://x?y", "http://x#y"})
  void only_http_and_https_urls_are_accepted(String url) {
    assertThatThrownBy(() -> Carillon.connect(URI.create(url), "k"))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
