package carillon.testkit;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A proxy that loses requests or responses. */
public final class FaultyProxy implements AutoCloseable {

  /** The fault of a request. */
  public enum Fault {
    /** The server handles the request, but the response is lost. */
    RESPONSE_LOST,
    /** The proxy responds with 503, and the server never receives the request. */
    REQUEST_REFUSED
  }

  private static final List<String> PASSED =
      List.of("Authorization", "Content-Type", "Idempotency-Key", "Accept");

  private final URI server;
  private final HttpServer proxy;
  private final HttpClient client = HttpClient.newHttpClient();
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final Map<String, Fault> faults = new ConcurrentHashMap<>();
  private final Map<String, Integer> hits = new ConcurrentHashMap<>();

  private FaultyProxy(URI server) {
    this.server = server;
    try {
      proxy = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    proxy.createContext("/", this::handle);
    proxy.setExecutor(threads);
    proxy.start();
  }

  public static FaultyProxy before(URI server) {
    return new FaultyProxy(server);
  }

  public URI url() {
    return URI.create("http://127.0.0.1:" + proxy.getAddress().getPort());
  }

  /** Applies the fault to every request to this path, until {@link #heal}. */
  public void breakPath(String path, Fault fault) {
    faults.put(path, fault);
  }

  public void heal() {
    faults.clear();
  }

  /** The number of requests to this path that suffered a fault. */
  public int hits(String path) {
    return hits.getOrDefault(path, 0);
  }

  private void handle(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    Fault fault = faults.get(path);
    byte[] body = exchange.getRequestBody().readAllBytes();
    if (fault == Fault.REQUEST_REFUSED) {
      hits.merge(path, 1, Integer::sum);
      exchange.sendResponseHeaders(503, -1);
      exchange.close();
      return;
    }
    HttpResponse<byte[]> response = forward(exchange, body);
    if (fault == Fault.RESPONSE_LOST) {
      hits.merge(path, 1, Integer::sum);
      exchange.close(); // without a byte of a response
      return;
    }
    exchange.sendResponseHeaders(
        response.statusCode(), response.body().length == 0 ? -1 : response.body().length);
    exchange.getResponseBody().write(response.body());
    exchange.close();
  }

  private HttpResponse<byte[]> forward(HttpExchange exchange, byte[] body) throws IOException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(server.resolve(exchange.getRequestURI()))
            .method(exchange.getRequestMethod(), HttpRequest.BodyPublishers.ofByteArray(body));
    for (String name : PASSED) {
      String value = exchange.getRequestHeaders().getFirst(name);
      if (value != null) {
        request.header(name, value);
      }
    }
    try {
      return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  @Override
  public void close() {
    proxy.stop(0);
    threads.shutdownNow();
    client.shutdownNow();
  }
}
