package carillon.chaos.cluster;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/** Calls nodes as programs of users do, and says what a caller can know afterwards. */
public final class Api implements AutoCloseable {

  static final JsonMapper JSON = JsonMapper.builder().build();

  private static final Duration PATIENCE = Duration.ofSeconds(6);

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(2))
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();

  /** What became of a call. */
  public sealed interface Reply {

    /** An answer, whatever it says. */
    record Answered(int status, JsonNode body, String text) implements Reply {}

    /** It never left: nothing has happened. */
    record NotSent(String why) implements Reply {}

    /** It left, and nobody knows. */
    record Lost(String why) implements Reply {}
  }

  /**
   * A call.
   *
   * @param key of whom it is; null for none
   * @param tenant on which an admin acts; null for the key's own
   * @param body JSON; null for none
   * @param once the idempotency key; null for none
   */
  public record Call(
      String method,
      String path,
      @Nullable String key,
      @Nullable String tenant,
      @Nullable String body,
      @Nullable String once) {

    public static Call get(String path, String key) {
      return new Call("GET", path, key, null, null, null);
    }

    public static Call post(String path, String key, @Nullable String body) {
      return new Call("POST", path, key, null, body, null);
    }

    public static Call put(String path, String key, String body) {
      return new Call("PUT", path, key, null, body, null);
    }

    public Call once(String idempotencyKey) {
      return new Call(method, path, key, tenant, body, idempotencyKey);
    }

    public Call on(String otherTenant) {
      return new Call(method, path, key, otherTenant, body, once);
    }
  }

  public Reply send(URI node, Call call) throws InterruptedException {
    return send(node, call, PATIENCE);
  }

  public Reply send(URI node, Call call, Duration patience) throws InterruptedException {
    try {
      HttpResponse<String> response =
          http.send(request(node, call).timeout(patience).build(), BodyHandlers.ofString());
      return new Reply.Answered(response.statusCode(), json(response.body()), response.body());
    } catch (ConnectException | HttpConnectTimeoutException | UnresolvedAddressException e) {
      return new Reply.NotSent(String.valueOf(e));
    } catch (IOException e) {
      return new Reply.Lost(String.valueOf(e));
    }
  }

  private static HttpRequest.Builder request(URI node, Call call) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(node + call.path()))
            .method(
                call.method(),
                call.body() == null
                    ? BodyPublishers.noBody()
                    : BodyPublishers.ofString(call.body()))
            .header("Content-Type", "application/json");
    if (call.key() != null) {
      request.header("Authorization", "Bearer " + call.key());
    }
    if (call.tenant() != null) {
      request.header("Carillon-Tenant", call.tenant());
    }
    if (call.once() != null) {
      request.header("Idempotency-Key", call.once());
    }
    return request;
  }

  private static JsonNode json(String text) {
    try {
      return text.isEmpty() ? MissingNode.getInstance() : JSON.readTree(text);
    } catch (JacksonException _) {
      return MissingNode.getInstance(); // not JSON, as metrics are
    }
  }

  boolean isReady(URI node) {
    try {
      return send(node, new Call("GET", "/health/ready", null, null, null, null))
              instanceof Reply.Answered answered
          && answered.status() == 200;
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
