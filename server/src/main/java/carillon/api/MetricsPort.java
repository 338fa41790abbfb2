package carillon.api;

import carillon.api.admin.MetricsAccess;
import carillon.api.admin.OperationsRoutes;
import carillon.api.connection.SlowClients;
import carillon.api.http.ApiConfig;
import carillon.api.http.Auth;
import carillon.api.http.Endpoint;
import carillon.api.http.Endpoints;
import carillon.api.http.FrontDoor;
import carillon.api.http.Health;
import carillon.api.json.BodyMemory;
import carillon.api.json.SpillDirectories;
import io.helidon.webserver.WebServer;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.InstantSource;
import java.util.List;

/**
 * Metrics and health checks on a separate port, so that the network can protect them and probes do
 * not queue behind API requests.
 */
final class MetricsPort implements AutoCloseable {

  private final WebServer server;
  private final SlowClients slowClients;

  private MetricsPort(WebServer server, SlowClients slowClients) {
    this.server = server;
    this.slowClients = slowClients;
  }

  static MetricsPort start(
      ApiConfig config,
      int port,
      Auth auth,
      Health health,
      PrometheusMeterRegistry metrics,
      InstantSource clock) {
    HttpApi.requireFreePort(config.bind(), port);
    // The connection metrics are those of the API; a second set would have the same names.
    SlowClients slowClients =
        new SlowClients(
            SlowClients.CLIENT_TIMEOUT,
            HttpApi.maxConnections(config),
            new CompositeMeterRegistry());
    List<Endpoint> endpoints =
        new OperationsRoutes(health, metrics, MetricsAccess.onOwnPort(config.metrics()))
            .healthAndMetrics();
    FrontDoor door =
        new FrontDoor(
            new Endpoints(endpoints, "not found: this port serves only /metrics and /health"),
            auth,
            new BodyMemory(new SpillDirectories(null)),
            metrics,
            clock);
    return new MetricsPort(
        HttpApi.server(config.withPort(port), door, slowClients).start(), slowClients);
  }

  int port() {
    return server.port();
  }

  @Override
  public void close() {
    server.stop();
    slowClients.close();
  }
}
