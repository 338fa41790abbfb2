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

/** A server that remembers what it was asked, and answers what it was told to. */
final class FakeApi implements AutoCloseable {

  /** One request as it came. */
  record Asked(
      String line,
      String body,
      @Nullable String key,
      @Nullable String tenant,
      @Nullable String ifMatch) {}

  private record Answer(int status, String body) {}

  private final HttpServer server;
  private final Queue<Answer> answers = new ArrayDeque<>();
  private final List<Asked> asked = new ArrayList<>();

  FakeApi() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0), 0);
    server.createContext("/", this::answer);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  synchronized FakeApi answering(int status, String body) {
    answers.add(new Answer(status, body));
    return this;
  }

  synchronized List<Asked> asked() {
    return List.copyOf(asked);
  }

  Asked only() {
    if (asked().size() != 1) {
      throw new AssertionError(asked().toString());
    }
    return asked().getFirst();
  }

  private void answer(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    Answer answer;
    synchronized (this) {
      asked.add(
          new Asked(
              exchange.getRequestMethod() + " " + exchange.getRequestURI(),
              body,
              exchange.getRequestHeaders().getFirst("Authorization"),
              exchange.getRequestHeaders().getFirst("Carillon-Tenant"),
              exchange.getRequestHeaders().getFirst("If-Match")));
      answer = answers.size() == 1 ? answers.element() : answers.remove();
    }
    byte[] bytes = answer.body().getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(answer.status(), bytes.length == 0 ? -1 : bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
