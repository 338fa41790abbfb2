package carillon.api.admin;

import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Answer;
import carillon.api.http.Call;
import carillon.api.http.Endpoint;
import carillon.api.http.Health;
import carillon.api.http.Permission;
import carillon.model.KeyText;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import tools.jackson.databind.node.JsonNodeFactory;

/** Health, metrics, limits, and the documentation of the API. */
public final class OperationsRoutes {

  public static final String OPENAPI = "/api/openapi.json";

  private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

  private final Health health;
  private final PrometheusMeterRegistry metrics;
  private final MetricsAccess access;

  public OperationsRoutes(Health health, PrometheusMeterRegistry metrics, MetricsAccess access) {
    this.health = health;
    this.metrics = metrics;
    this.access = access;
  }

  /** Health checks and metrics. */
  public List<Endpoint> healthAndMetrics() {
    return List.of(
        Endpoint.get("/health/live", Permission.NONE, _ -> okUnless(health.notLive(), "live")),
        Endpoint.get("/health/ready", Permission.NONE, _ -> okUnless(health.notReady(), "ready")),
        Endpoint.get("/metrics", Permission.NONE, this::metrics));
  }

  private Answer metrics(Call call) {
    access.require(call);
    return Answer.text(200, METRICS_TYPE, metrics.scrape());
  }

  public List<Endpoint> endpoints() {
    List<Endpoint> all = new ArrayList<>(healthAndMetrics());
    all.addAll(documentation());
    return all;
  }

  private static List<Endpoint> documentation() {
    return List.of(
        Endpoint.get("/v1/limits", Permission.ANY, _ -> Answer.json(200, Limits.json())),
        file("/openapi.json", OPENAPI, "application/json"),
        file("/docs", "/ui/docs.html", "text/html; charset=utf-8"),
        file("/ui/docs.js", "/ui/docs.js", "text/javascript; charset=utf-8"),
        file("/ui/docs.css", "/ui/docs.css", "text/css; charset=utf-8"));
  }

  private static Answer okUnless(Optional<String> reason, String status) {
    if (reason.isPresent()) {
      throw new ApiException(ErrorCode.UNAVAILABLE, reason.get()).with("Retry-After", "1");
    }
    return Answer.json(200, JsonNodeFactory.instance.objectNode().put("status", status));
  }

  private static Endpoint file(String path, String resource, String contentType) {
    String text = read(resource);
    String tag = "\"" + HexFormat.of().formatHex(KeyText.sha256(text), 0, 12) + "\"";
    Map<String, String> headers = Map.of("ETag", tag, "Cache-Control", "no-cache");
    Answer full = new Answer(200, contentType, text, headers);
    Answer notModified = new Answer(304, contentType, "", headers);
    return Endpoint.get(path, Permission.NONE, call -> call.matchesETag(tag) ? notModified : full);
  }

  public static String read(String resource) {
    try (InputStream in = OperationsRoutes.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("missing resource " + resource);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
