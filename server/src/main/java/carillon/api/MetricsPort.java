package carillon.api;

import carillon.api.admin.MetricsAccess;
import carillon.api.admin.OperateRoutes;
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
 * Metrics and health at a port of their own, so that the network decides who reads them, and no
 * probe queues behind the API's requests.
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
    HttpApi.refuseTakenPort(config.bind(), port);
    // The series of connections are the API's; a second set of the same name would replace nothing.
    SlowClients slowClients =
        new SlowClients(SlowClients.PATIENCE, HttpApi.most(config), new CompositeMeterRegistry());
    List<Endpoint> endpoints =
        new OperateRoutes(health, metrics, MetricsAccess.atTheirPort(config.metrics())).watched();
    FrontDoor door =
        new FrontDoor(
            new Endpoints(endpoints, "this port has /metrics and /health only"),
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
