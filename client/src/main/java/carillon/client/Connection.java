package carillon.client;

import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.MissingNode;

/** Sends requests to one server with one API key and reads the responses. */
final class Connection {

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(5);

  /** Longer than the longest long-poll, which is 60 s. */
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(75);

  /** Keeps the numbers of payloads exactly as written. */
  static final JsonMapper JSON =
      JsonMapper.builder().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).build();

  private final HttpClient http;
  private final URI url;
  private final String key;
  private final @Nullable String tenant;

  private Connection(HttpClient http, URI url, String key, @Nullable String tenant) {
    this.http = http;
    this.url = url;
    this.key = key;
    this.tenant = tenant;
  }

  static Connection to(URI url, String key) {
    boolean web =
        "http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme());
    if (!web
        || url.getHost() == null
        || url.getRawQuery() != null
        || url.getRawFragment() != null) {
      throw new IllegalArgumentException(
          "\"" + url + "\" is not a URL such as http://127.0.0.1:8080");
    }
    String bare = key.strip(); // a key from a file ends with a new line
    if (!bare.chars().allMatch(c -> c > ' ' && c <= '~')) {
      throw new IllegalArgumentException(
          "the API key contains an invalid character, such as a space or a line break");
    }
    HttpClient http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIMEOUT)
            .build();
    return new Connection(http, url, bare, null);
  }

  URI url() {
    return url;
  }

  Connection withTenant(String name) {
    return new Connection(http, url, key, name);
  }

  void close() {
    // HttpClient can be closed from Java 21 on; before that the garbage collector does it.
    if (http instanceof AutoCloseable closeable) {
      try {
        closeable.close();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /**
   * @param body anything that Jackson writes as JSON; null sends none
   */
  HttpRequest.Builder request(String method, String path, @Nullable Object body) {
    String base = url.toString();
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create(
                    (base.endsWith("/") ? base.substring(0, base.length() - 1) : base) + path))
            .timeout(CALL_TIMEOUT)
            .header("Authorization", "Bearer " + key);
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

  /** The response, if its status is 2xx. */
  HttpResponse<String> send(HttpRequest.Builder request, String accept) {
    HttpResponse<String> response;
    try {
      response = http.send(request.header("Accept", accept).build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new CarillonException(
          CarillonException.NO_ANSWER, "no-answer", reason(e), List.of(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new CarillonException(
          CarillonException.NO_ANSWER, CarillonException.INTERRUPTED, "interrupted", List.of(), e);
    }
    if (response.statusCode() / 100 != 2) {
      throw problem(response);
    }
    return response;
  }

  private String reason(IOException e) {
    if (e instanceof ConnectException || e instanceof HttpConnectTimeoutException) {
      return "cannot connect to " + url;
    }
    return "no response from " + url + (e.getMessage() == null ? "" : ": " + e.getMessage());
  }

  /** The response as JSON. */
  JsonNode call(HttpRequest.Builder request) {
    return json(send(request, "application/json"));
  }

  JsonNode json(HttpResponse<String> response) {
    if (response.body().isEmpty()) {
      return MissingNode.getInstance();
    }
    try {
      return JSON.readTree(response.body());
    } catch (JacksonException e) {
      throw new CarillonException(
          response.statusCode(),
          "not-json",
          "the response from " + url + " is not JSON; is this a Carillon server?",
          List.of(),
          e);
    }
  }

  /** Reads a problem document; a proxy may respond without one. */
  private static CarillonException problem(HttpResponse<String> response) {
    int status = response.statusCode();
    JsonNode problem;
    try {
      problem = JSON.readTree(response.body());
    } catch (JacksonException e) {
      problem = MissingNode.getInstance();
    }
    String title = problem.path("title").asString("HTTP " + status);
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
        retryAfter(response),
        null);
  }

  /** Seconds, as Carillon sends it. A date, which a proxy may send, is ignored. */
  private static @Nullable Duration retryAfter(HttpResponse<String> response) {
    try {
      return response
          .headers()
          .firstValue("Retry-After")
          .map(text -> Duration.ofSeconds(Math.max(0, Math.min(3600, Integer.parseInt(text)))))
          .orElse(null);
    } catch (NumberFormatException e) {
      return null;
    }
  }
}
