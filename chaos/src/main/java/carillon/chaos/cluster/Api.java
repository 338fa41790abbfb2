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

/**
 * Calls nodes as user programs do, and returns what a caller can know about the effect of the call.
 */
public final class Api implements AutoCloseable {

  static final JsonMapper JSON = JsonMapper.builder().build();

  private static final Duration TIMEOUT = Duration.ofSeconds(6);

  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(2))
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();

  /** The result of a call. */
  public sealed interface Reply {

    /** A response, whatever its status. */
    record Answered(int status, JsonNode body, String text) implements Reply {}

    /** The request was not sent, so it had no effect. */
    record NotSent(String reason) implements Reply {}

    /** The request was sent, but no response arrived: its effect is unknown. */
    record Lost(String reason) implements Reply {}
  }

  /**
   * A call.
   *
   * @param key the API key; null for none
   * @param tenant the tenant on which an admin acts; null for the tenant of the key
   * @param body JSON; null for none
   * @param idempotencyKey null for none
   */
  public record Call(
      String method,
      String path,
      @Nullable String key,
      @Nullable String tenant,
      @Nullable String body,
      @Nullable String idempotencyKey) {

    public static Call get(String path, String key) {
      return new Call("GET", path, key, null, null, null);
    }

    public static Call post(String path, String key, @Nullable String body) {
      return new Call("POST", path, key, null, body, null);
    }

    public static Call put(String path, String key, String body) {
      return new Call("PUT", path, key, null, body, null);
    }

    public static Call patch(String path, String key, String body) {
      return new Call("PATCH", path, key, null, body, null);
    }

    public Call withIdempotencyKey(String newKey) {
      return new Call(method, path, key, tenant, body, newKey);
    }

    public Call onTenant(String newTenant) {
      return new Call(method, path, key, newTenant, body, idempotencyKey);
    }
  }

  public Reply send(URI node, Call call) throws InterruptedException {
    return send(node, call, TIMEOUT);
  }

  public Reply send(URI node, Call call, Duration timeout) throws InterruptedException {
    try {
      HttpResponse<String> response =
          http.send(request(node, call).timeout(timeout).build(), BodyHandlers.ofString());
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
    if (call.idempotencyKey() != null) {
      request.header("Idempotency-Key", call.idempotencyKey());
    }
    return request;
  }

  private static JsonNode json(String text) {
    try {
      return text.isEmpty() ? MissingNode.getInstance() : JSON.readTree(text);
    } catch (JacksonException _) {
      return MissingNode.getInstance(); // not JSON, such as metrics
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
