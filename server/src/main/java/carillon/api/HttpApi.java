package carillon.api;

import carillon.api.admin.AuditRoutes;
import carillon.api.admin.ClusterRoutes;
import carillon.api.admin.KeyRoutes;
import carillon.api.admin.MeRoute;
import carillon.api.admin.MetricsAccess;
import carillon.api.admin.OperationsRoutes;
import carillon.api.admin.StorageRoute;
import carillon.api.admin.TenantRoutes;
import carillon.api.connection.FramedHttp;
import carillon.api.connection.SlowClients;
import carillon.api.deadletters.ArchiveFields;
import carillon.api.deadletters.DeadLetterRoutes;
import carillon.api.deadletters.RedriveRoutes;
import carillon.api.deadletters.RestoreRoutes;
import carillon.api.error.Limits;
import carillon.api.http.ApiConfig;
import carillon.api.http.Auth;
import carillon.api.http.Cursors;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Endpoint;
import carillon.api.http.Endpoints;
import carillon.api.http.FrontDoor;
import carillon.api.http.Health;
import carillon.api.http.Idempotency;
import carillon.api.http.Paging;
import carillon.api.json.BodyMemory;
import carillon.api.json.SpillDirectories;
import carillon.api.live.Broadcast;
import carillon.api.live.EventRoutes;
import carillon.api.live.Stats;
import carillon.api.live.StatsRoutes;
import carillon.api.schedules.BackfillRoutes;
import carillon.api.schedules.PreviewRoute;
import carillon.api.schedules.ScheduleFields;
import carillon.api.schedules.ScheduleRoutes;
import carillon.api.schema.PayloadSchemas;
import carillon.api.targets.BrokerFields;
import carillon.api.targets.TargetFields;
import carillon.api.tasks.BatchRoutes;
import carillon.api.tasks.BulkRoutes;
import carillon.api.tasks.TaskFields;
import carillon.api.tasks.TaskListRoutes;
import carillon.api.tasks.TaskRoutes;
import carillon.api.types.TypeRoutes;
import carillon.api.ui.UiRoutes;
import carillon.api.work.WorkRoutes;
import carillon.model.target.BrokerTargetRules;
import carillon.model.target.HttpTargetRules;
import carillon.store.ApiStore;
import io.helidon.http.DirectHandler;
import io.helidon.http.encoding.ContentEncodingContext;
import io.helidon.webserver.ErrorHandling;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.DirectHandlers;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http1.Http1Config;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The HTTP server with all its limits and endpoints. */
public final class HttpApi implements AutoCloseable {

  /** Connections from all addresses together. */
  public static final int MAX_CONNECTIONS = 8192;

  /** Additional connections for health checks while all others are busy. */
  private static final int RESERVE = 64;

  private final WebServer server;
  private final SlowClients slowClients;
  private final Shared shared;
  private final @Nullable MetricsPort metricsPort;

  private HttpApi(
      WebServer server, SlowClients slowClients, Shared shared, @Nullable MetricsPort metricsPort) {
    this.server = server;
    this.slowClients = slowClients;
    this.shared = shared;
    this.metricsPort = metricsPort;
  }

  /** Shared by all requests of a node. */
  record Shared(DatabaseGate database, Stats stats, Broadcast broadcast, AtomicBoolean stopping) {

    static Shared of(ApiStore store, int databaseRequests, InstantSource clock) {
      DatabaseGate database = new DatabaseGate(store.db(), databaseRequests);
      Stats stats = new Stats(store.stats(), store.activityReader(), database, System::nanoTime);
      return new Shared(
          database,
          stats,
          new Broadcast(store.events(), store.keys(), stats::json, database, clock),
          new AtomicBoolean());
    }
  }

  /**
   * Starts to listen.
   *
   * @throws IllegalStateException with a message for the operator if the address is not available
   */
  public static HttpApi start(
      ApiConfig config,
      ApiStore store,
      HttpTargetRules targetRules,
      Health health,
      PrometheusMeterRegistry metrics,
      InstantSource clock) {
    SlowClients slowClients =
        new SlowClients(SlowClients.CLIENT_TIMEOUT, maxConnections(config), metrics);
    return start(config, store, targetRules, health, metrics, clock, slowClients);
  }

  /** Starts to listen with other limits for clients. */
  static HttpApi start(
      ApiConfig config,
      ApiStore store,
      HttpTargetRules targetRules,
      Health health,
      PrometheusMeterRegistry metrics,
      InstantSource clock,
      SlowClients slowClients) {
    requireFreePort(config.bind(), config.port());
    Shared shared = Shared.of(store, config.databaseRequests(), clock);
    Gauge.builder("carillon.streams", shared.broadcast(), Broadcast::streams)
        .description("Open event streams on this node")
        .register(metrics);
    Auth auth = new Auth(config.adminKeyHash(), store.keys(), store.tenants(), shared.database());
    FrontDoor door =
        new FrontDoor(
            endpoints(config, store, shared, targetRules, health, metrics, clock),
            auth,
            new BodyMemory(new SpillDirectories(config.dataDirectory())).measuredBy(metrics),
            metrics,
            clock);
    WebServer server = server(config, door, slowClients).start();
    MetricsPort metricsPort;
    try {
      Integer ownPort = config.metrics().port();
      metricsPort =
          ownPort == null ? null : MetricsPort.start(config, ownPort, auth, health, metrics, clock);
    } catch (RuntimeException e) {
      server.stop();
      slowClients.close();
      throw e;
    }
    shared.broadcast().start();
    return new HttpApi(server, slowClients, shared, metricsPort);
  }

  static SlowClients.Max maxConnections(ApiConfig config) {
    return new SlowClients.Max(MAX_CONNECTIONS, config.maxConnectionsPerAddress(), RESERVE);
  }

  static Endpoints endpoints(
      ApiConfig config,
      ApiStore store,
      Shared shared,
      HttpTargetRules targetRules,
      Health health,
      PrometheusMeterRegistry metrics,
      InstantSource clock) {
    DatabaseGate database = shared.database();
    Idempotency idempotency = new Idempotency(database, store.replies());
    Paging paging = new Paging(new Cursors(config.secret()));
    TargetFields targets =
        new TargetFields(targetRules, new BrokerFields(new BrokerTargetRules(config.brokers())));
    TaskFields tasks = new TaskFields(targets, clock);
    PayloadSchemas schemas = new PayloadSchemas(store.types());
    List<Endpoint> all = new ArrayList<>(operate(config, health, metrics).endpoints());
    if (!config.servesTasks()) {
      return new Endpoints(
          all, "not found: this node has no API; send requests to a node with the role api");
    }
    all.addAll(new UiRoutes().endpoints());
    all.addAll(
        new TaskRoutes(store.tasks(), tasks, schemas, database, idempotency, paging).endpoints());
    all.addAll(new BulkRoutes(store.tasks(), idempotency, paging).endpoints());
    all.addAll(new TaskListRoutes(store.tasks(), store.schedules(), database, paging).endpoints());
    all.addAll(new BatchRoutes(store.tasks(), tasks, schemas, idempotency).endpoints());
    all.addAll(
        new DeadLetterRoutes(store.deadLetters(), store.redrives(), database, idempotency, paging)
            .endpoints());
    all.addAll(new RedriveRoutes(store.redrives(), database, idempotency, paging).endpoints());
    all.addAll(new BackfillRoutes(store.backfills(), database, idempotency, paging).endpoints());
    all.addAll(new AuditRoutes(store.audit(), database, paging).endpoints());
    all.addAll(
        new RestoreRoutes(
                store.restores(), new ArchiveFields(targets, clock), database, idempotency)
            .endpoints());
    all.addAll(new TypeRoutes(store.types(), targets, database, idempotency, paging).endpoints());
    all.addAll(
        new ScheduleRoutes(
                store.schedules(),
                new ScheduleFields(targets),
                schemas,
                database,
                idempotency,
                paging,
                clock)
            .endpoints());
    all.addAll(new PreviewRoute(clock).endpoints());
    all.addAll(new WorkRoutes(store.pullQueue(), idempotency, shared.stopping()::get).endpoints());
    all.addAll(new KeyRoutes(store.keys(), database, paging, clock).endpoints());
    all.addAll(new MeRoute(config.version()).endpoints());
    all.addAll(new ClusterRoutes(store.cluster(), database, config.bind()).endpoints());
    all.addAll(new StorageRoute(store.storage(), database).endpoints());
    all.addAll(
        new StatsRoutes(
                shared.stats(), store.stats(), store.activityReader(), store.tenants(), database)
            .endpoints());
    all.addAll(new EventRoutes(shared.broadcast()).endpoints());
    all.addAll(new TenantRoutes(store.tenants(), targets, database, paging).endpoints());
    return new Endpoints(all, "not found: see /docs for all paths");
  }

  private static OperationsRoutes operate(
      ApiConfig config, Health health, PrometheusMeterRegistry metrics) {
    return new OperationsRoutes(health, metrics, MetricsAccess.onApiPort(config.metrics()));
  }

  static WebServer server(ApiConfig config, FrontDoor door, SlowClients slowClients) {
    return WebServer.builder()
        .host(config.bind())
        .port(config.port())
        .useNio(false)
        .shutdownHook(false)
        .shutdownGracePeriod(config.stopGrace())
        // The default of 1024 overflows when clients reconnect all at once, and a dropped SYN is
        // sent again only after a second: too late for a health check.
        .backlog(MAX_CONNECTIONS)
        .maxTcpConnections(-1) // the server would stop accepting; SlowClients makes room
        .maxPayloadSize(Limits.BATCH_BYTES)
        .connectionOptions(slowClients)
        .contentEncoding(
            ContentEncodingContext.builder().contentEncodingsDiscoverServices(false).build())
        .protocolsDiscoverServices(false)
        .addConnectionSelector(new FramedHttp(http1(), slowClients))
        .errorHandling(ErrorHandling.builder().includeEntity(true).build())
        .directHandlers(directHandlers(door))
        .routing(HttpRouting.builder().any(door))
        .build();
  }

  private static Http1ConnectionSelector http1() {
    return Http1ConnectionSelector.builder()
        .config(
            Http1Config.builder()
                // RequestHead has stricter limits, with better error messages.
                .maxPrologueLength(2 * Limits.REQUEST_LINE_BYTES)
                .maxHeadersSize(2 * Limits.HEADER_BYTES)
                .validateRequestHeaders(true)
                .build())
        .build();
  }

  private static DirectHandlers directHandlers(FrontDoor door) {
    DirectHandlers.Builder handlers = DirectHandlers.builder();
    for (DirectHandler.EventType type : DirectHandler.EventType.values()) {
      handlers.addHandler(type, door);
    }
    return handlers.build();
  }

  /**
   * Fails with a one-line message if the address cannot be listened on; the web server would fail
   * with a chain of exceptions.
   */
  public static void requireFreePort(String bind, int port) {
    try (ServerSocket probe = new ServerSocket()) {
      probe.setReuseAddress(true);
      probe.bind(new InetSocketAddress(bind, port));
    } catch (BindException e) {
      throw new IllegalStateException(
          "cannot listen on " + bind + ":" + port + ": " + e.getMessage(), e);
    } catch (IOException | IllegalArgumentException e) {
      throw new IllegalStateException("cannot listen on " + bind + ": " + e.getMessage(), e);
    }
  }

  /** The actual port, also if 0 was configured. */
  public int port() {
    return server.port();
  }

  /** The separate port of metrics and health, if there is one. */
  public OptionalInt metricsPort() {
    return metricsPort == null ? OptionalInt.empty() : OptionalInt.of(metricsPort.port());
  }

  /**
   * Ends long polls and event streams, lets running requests finish within the grace period, then
   * stops.
   */
  @Override
  public void close() {
    shared.stopping().set(true);
    shared.broadcast().close();
    server.stop();
    slowClients.close();
    if (metricsPort != null) {
      metricsPort.close(); // last, so that probes see the stopping node
    }
  }
}
