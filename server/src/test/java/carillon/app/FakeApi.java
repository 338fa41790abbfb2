package carillon.app;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** An HTTP server with scripted responses that records its requests. The last response repeats. */
final class FakeApi implements AutoCloseable {

  record Request(
      String line,
      String body,
      @Nullable String key,
      @Nullable String tenant,
      @Nullable String ifMatch) {}

  private record Response(int status, String body) {}

  private final HttpServer server;
  private final Queue<Response> responses = new ArrayDeque<>();
  private final List<Request> requests = new ArrayList<>();

  FakeApi() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 0);
    server.createContext("/", this::handle);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  synchronized FakeApi responding(int status, String body) {
    responses.add(new Response(status, body));
    return this;
  }

  synchronized List<Request> requests() {
    return List.copyOf(requests);
  }

  Request only() {
    if (requests().size() != 1) {
      throw new AssertionError(requests().toString());
    }
    return requests().getFirst();
  }

  private void handle(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    Response response;
    synchronized (this) {
      requests.add(
          new Request(
              exchange.getRequestMethod() + " " + exchange.getRequestURI(),
              body,
              exchange.getRequestHeaders().getFirst("Authorization"),
              exchange.getRequestHeaders().getFirst("Carillon-Tenant"),
              exchange.getRequestHeaders().getFirst("If-Match")));
      response = responses.size() == 1 ? responses.element() : responses.remove();
    }
    byte[] bytes = response.body().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(response.status(), bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
