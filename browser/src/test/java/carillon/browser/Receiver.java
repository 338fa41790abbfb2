package carillon.browser;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The HTTP target of the tests: a path responds as set with {@link #respond}, and with 200
 * otherwise.
 */
final class Receiver implements AutoCloseable {

  private record Response(int status, String body) {}

  private final Map<String, Response> responses = new ConcurrentHashMap<>();
  private final Map<String, Map<String, String>> received = new ConcurrentHashMap<>();
  private final HttpServer server;

  Receiver() {
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    Response response =
        responses.getOrDefault(
            exchange.getRequestURI().getPath(), new Response(200, "{\"ok\":true}"));
    byte[] body = response.body.getBytes(StandardCharsets.UTF_8);
    exchange.getRequestBody().readAllBytes();
    Map<String, String> headers = new HashMap<>();
    exchange
        .getRequestHeaders()
        .forEach((name, values) -> headers.put(name.toLowerCase(Locale.ROOT), values.getFirst()));
    received.put(exchange.getRequestURI().getPath(), headers);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(response.status, body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  /** The headers of the last request to the path, by lower-case name; empty if there was none. */
  Map<String, String> headers(String path) {
    return received.getOrDefault(path, Map.of());
  }

  /** Sets the response of a path. */
  void respond(String path, int status, String body) {
    responses.put(path, new Response(status, body));
  }

  Map<String, Object> target(String path) {
    return Map.of("http", Map.of("url", url(path)));
  }

  String url(String path) {
    return "http://127.0.0.1:" + server.getAddress().getPort() + path;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
