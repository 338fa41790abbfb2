package carillon.client;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/**
 * A connection to a Carillon server: one call of its HTTP API a method, JSON in and out.
 *
 * <pre>{@code
 * try (var carillon = Carillon.connect(URI.create("http://127.0.0.1:8080"), key)) {
 *   JsonNode task = carillon.post("/v1/tasks", Map.of("type", "greet", "delay", "5m"));
 * }
 * }</pre>
 *
 * <p>Safe to share between threads. Every method throws {@link CarillonException} if the server
 * refuses the call or does not answer; a call without an answer may have taken effect, so repeat a
 * POST with the same idempotency key.
 */
public final class Carillon implements AutoCloseable {

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /** Longer than the longest long-poll, which is 60 s. */
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(75);

  private static final JsonMapper JSON = JsonMapper.builder().build();

  private final HttpClient http;
  private final URI url;
  private final String key;
  private final @Nullable String tenant;

  private Carillon(HttpClient http, URI url, String key, @Nullable String tenant) {
    this.http = http;
    this.url = url;
    this.key = key;
    this.tenant = tenant;
  }

  /**
   * Prepares to call a server; nothing is sent yet.
   *
   * @param url where the server is, such as {@code http://127.0.0.1:8080}
   * @param key an API key or session token
   * @throws IllegalArgumentException if the URL is not an http or https one
   */
  public static Carillon connect(URI url, String key) {
    boolean web =
        "http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme());
    if (!web
        || url.getHost() == null
        || url.getRawQuery() != null
        || url.getRawFragment() != null) {
      throw new IllegalArgumentException(
          "\"" + url + "\" is not a URL such as http://127.0.0.1:8080");
    }
    HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIMEOUT)
            .build();
    return new Carillon(http, url, key, null);
  }

  /** The same connection acting on another tenant, which only an admin key may. */
  public Carillon withTenant(String name) {
    return new Carillon(http, url, key, name);
  }

  /** Reads something. */
  public JsonNode get(String path) {
    return json(send(request("GET", path, null, "application/json")));
  }

  /** Reads something that is not JSON, such as {@code /metrics}. */
  public String text(String path) {
    return send(request("GET", path, null, "text/plain")).body();
  }

  /**
   * Makes or does something.
   *
   * @param body anything that Jackson writes as JSON; null sends none
   */
  public JsonNode post(String path, @Nullable Object body) {
    return json(send(request("POST", path, body, "application/json")));
  }

  /**
   * Makes or does something at most once, however often it is repeated with the same key and body
   * within a day.
   */
  public JsonNode post(String path, @Nullable Object body, String idempotencyKey) {
    return json(
        send(
            request("POST", path, body, "application/json")
                .header("Idempotency-Key", idempotencyKey)));
  }

  /**
   * Makes many things.
   *
   * @param lines NDJSON: one JSON value a line
   */
  public JsonNode postLines(String path, byte[] lines) {
    return json(
        send(
            request("POST", path, null, "application/json")
                .header("Content-Type", "application/x-ndjson")
                .POST(BodyPublishers.ofByteArray(lines))));
  }

  /** Makes or replaces the thing at the path. */
  public JsonNode put(String path, Object body) {
    return json(send(request("PUT", path, body, "application/json")));
  }

  /**
   * Replaces the thing at the path if it still has this version; the server answers 412 or 404
   * otherwise, and has changed nothing.
   */
  public JsonNode put(String path, Object body, int version) {
    return json(
        send(
            request("PUT", path, body, "application/json")
                .header("If-Match", "\"" + version + "\"")));
  }

  /** Changes the given fields of the thing at the path. */
  public JsonNode patch(String path, Object body) {
    return json(send(request("PATCH", path, body, "application/json")));
  }

  /** Removes the thing at the path. */
  public JsonNode delete(String path) {
    return json(send(request("DELETE", path, null, "application/json")));
  }

  /**
   * Removes the thing at the path if it still has this version; the server answers 412 or 404
   * otherwise, and has removed nothing.
   */
  public JsonNode delete(String path, int version) {
    return json(
        send(
            request("DELETE", path, null, "application/json")
                .header("If-Match", "\"" + version + "\"")));
  }

  /** Ends the connection; also for those made from it by {@link #withTenant}. */
  @Override
  public void close() {
    // HttpClient can be closed from Java 21 on; before that the garbage collector does it.
    if (http instanceof AutoCloseable closeable) {
      try {
        closeable.close();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private HttpRequest.Builder request(
      String method, String path, @Nullable Object body, String accept) {
    String base = url.toString();
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create(
                    (base.endsWith("/") ? base.substring(0, base.length() - 1) : base) + path))
            .timeout(CALL_TIMEOUT)
            .header("Authorization", "Bearer " + key)
            .header("Accept", accept);
    if (tenant != null) {
      request.header("Carillon-Tenant", tenant);
    }
    if (body == null) {
      return request.method(method, BodyPublishers.noBody());
    }
    return request
        .header("Content-Type", "application/json")
        .method(method, BodyPublishers.ofByteArray(JSON.writeValueAsBytes(body)));
  }

  private HttpResponse<String> send(HttpRequest.Builder request) {
    HttpResponse<String> response;
    try {
      response = http.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      String why = e.getMessage() == null ? "it cannot be reached" : e.getMessage();
      throw new CarillonException(
          CarillonException.NO_ANSWER,
          "no-answer",
          "no answer from " + url + ": " + why,
          List.of(),
          e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CarillonException(
          CarillonException.NO_ANSWER, "interrupted", "interrupted", List.of(), e);
    }
    if (response.statusCode() / 100 != 2) {
      throw problem(response);
    }
    return response;
  }

  private JsonNode json(HttpResponse<String> response) {
    if (response.body().isEmpty()) {
      return MissingNode.getInstance();
    }
    try {
      return JSON.readTree(response.body());
    } catch (JacksonException e) {
      throw new CarillonException(
          response.statusCode(),
          "not-json",
          "the answer of " + url + " is not JSON; is it a Carillon?",
          List.of(),
          e);
    }
  }

  /** Also for what a proxy in between may answer, which has no problem document. */
  private CarillonException problem(HttpResponse<String> response) {
    int status = response.statusCode();
    JsonNode problem;
    try {
      problem = JSON.readTree(response.body());
    } catch (JacksonException e) {
      problem = MissingNode.getInstance();
    }
    String title = problem.path("title").asString("the server answered " + status);
    List<CarillonException.Problem> errors = new ArrayList<>();
    for (JsonNode error : problem.path("errors")) {
      errors.add(
          new CarillonException.Problem(
              error.path("pointer").asString(""), error.path("message").asString("")));
    }
    return new CarillonException(
        status,
        problem.path("code").asString("http-" + status),
        problem.path("detail").asString(title),
        errors,
        null);
  }
}
