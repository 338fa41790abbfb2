package carillon.api.http;

import carillon.api.connection.BodyStream;
import carillon.api.connection.ClientConnection;
import carillon.api.error.ApiException;
import carillon.api.error.ErrorCode;
import carillon.api.error.TenantFull;
import carillon.api.json.BodyMemory;
import carillon.model.Echo;
import carillon.store.catalog.LimitReached;
import carillon.store.db.StoreException;
import io.helidon.http.DirectHandler;
import io.helidon.http.Header;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.RequestException;
import io.helidon.http.ServerRequestHeaders;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import io.helidon.webserver.http.Handler;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes every request through the same steps: match, authenticate, allow, handle, answer, count.
 */
public final class FrontDoor implements Handler, DirectHandler {

  private static final Logger LOG = LoggerFactory.getLogger(FrontDoor.class);

  static final String REQUEST_ID = "Carillon-Request-Id";

  private static final String HEAD = "HEAD";

  private static final List<Header> ON_EVERY_ANSWER =
      List.of(
          HeaderValues.createCached(
              "Content-Security-Policy",
              "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
          HeaderValues.createCached("X-Content-Type-Options", "nosniff"),
          HeaderValues.createCached("X-Frame-Options", "DENY"),
          HeaderValues.createCached("Referrer-Policy", "no-referrer"),
          HeaderValues.createCached("Cross-Origin-Resource-Policy", "same-origin"),
          HeaderValues.createCached("Cache-Control", "no-store"));

  private static final HeaderName REQUEST_ID_NAME = HeaderNames.create(REQUEST_ID);
  private static final HeaderName IDEMPOTENCY_KEY = HeaderNames.create("Idempotency-Key");
  private static final HeaderName TENANT_NAME = HeaderNames.create("Carillon-Tenant");

  private final Endpoints endpoints;
  private final Auth auth;
  private final MeterRegistry metrics;
  private final Map<Counted, Meters> counted = new ConcurrentHashMap<>();
  private final BodyMemory memory;
  private final HttpDate date;

  public FrontDoor(
      Endpoints endpoints,
      Auth auth,
      BodyMemory memory,
      MeterRegistry metrics,
      InstantSource clock) {
    this.endpoints = endpoints;
    this.auth = auth;
    this.metrics = metrics;
    this.memory = memory;
    this.date = new HttpDate(clock);
  }

  private record Counted(String route, int status) {}

  private record Meters(Counter requests, Timer took) {}

  /** What is known about a request so far. */
  private static final class Progress {
    private final String requestId = newRequestId();
    private final long startedAt = System.nanoTime();
    private final ClientConnection.Peer peer;
    private final BodyStream body;
    private String route = "none";
    private boolean closes;
    private BodyMemory.@Nullable Share share;

    private Progress(ServerRequest request) {
      this.peer = ClientConnection.Peer.of(request);
      this.body = new BodyStream(request, peer.connection(), hasBody(request.headers()));
      this.closes = peer.framing().wantsClose() || peer.connection().isReserved();
    }

    private static boolean hasBody(ServerRequestHeaders headers) {
      return headers.contains(HeaderNames.TRANSFER_ENCODING) || contentLength(headers) > 0;
    }

    /**
     * Whether nothing more is read from this connection once the answer is sent. Where a body was
     * not read to its end, the next byte is not the next request.
     */
    private boolean closes() {
      return closes || !body.isAtEnd();
    }

    private void giveBackMemory() {
      if (share != null) {
        share.close();
      }
    }
  }

  @Override
  public void handle(ServerRequest request, ServerResponse response) {
    Progress progress = new Progress(request);
    progress.peer.connection().asked();
    boolean closes = true; // also if the answer cannot be sent
    try {
      Answer answer = answer(request, progress);
      closes = progress.closes() || answer.live() != null;
      if (progress.share != null) {
        progress.share.keepFor(answer.body().length());
      }
      if (answer.live() != null) {
        count(request, progress, answer.status()); // how long somebody watches is nobody's delay
        try (Answer.Live _ = answer.live()) {
          send(request, answer, progress, response);
        }
        return;
      }
      send(request, answer, progress, response);
      count(request, progress, answer.status());
    } finally {
      progress.giveBackMemory();
      progress.peer.framing().answered(closes);
    }
  }

  private Answer answer(ServerRequest request, Progress progress) {
    try {
      Answer answer = route(request, progress);
      if (answer.live() != null && progress.peer.framing().isHttp10()) {
        answer.live().close();
        throw new ApiException(
            ErrorCode.HTTP_VERSION_NOT_SUPPORTED, "streams need HTTP/1.1: HTTP/1.0 has no chunks");
      }
      return answer;
    } catch (ApiException e) {
      progress.closes |= e.closes();
      RequestException fault = progress.body.fault();
      return Problem.answer(fault == null ? e : transportProblem(fault), progress.requestId);
    } catch (LimitReached e) {
      return Problem.answer(TenantFull.answer(e), progress.requestId);
    } catch (StoreException e) {
      return Problem.answer(storeProblem(e, progress), progress.requestId);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Problem.answer(DatabaseGate.overloaded(), progress.requestId);
    } catch (RequestException e) {
      // The server found, while the body was read, that it is not HTTP.
      progress.closes = true;
      return Problem.answer(transportProblem(e), progress.requestId);
    } catch (RuntimeException | Error e) {
      LOG.error("request={} route={} failed", progress.requestId, progress.route, e);
      return Problem.answer(
          new ApiException(ErrorCode.INTERNAL, ErrorCode.INTERNAL.meaning()), progress.requestId);
    }
  }

  private Answer route(ServerRequest request, Progress progress) throws InterruptedException {
    ServerRequestHeaders headers = request.headers();
    String path = request.prologue().uriPath().rawPath();
    if (PercentText.ofPath(path) == null) {
      throw new ApiException(ErrorCode.BAD_REQUEST, "the path is not percent-encoded UTF-8");
    }
    String method = request.prologue().method().text();
    // Whatever can be read can be asked about.
    Endpoints.Match match = endpoints.match(method.equals(HEAD) ? "GET" : method, path);
    Endpoint endpoint = match.endpoint();
    progress.route = endpoint.path();
    if (progress.peer.connection().isReserved() && !isAboutTheNode(path)) {
      throw new ApiException(ErrorCode.OVERLOADED, "too many connections").with("Retry-After", "1");
    }
    Query query = Query.parse(request.prologue().query().rawValue());
    RequestBody body = body(request, progress.body);
    List<String> authorization = all(headers, HeaderNames.AUTHORIZATION);
    List<String> tenant = all(headers, TENANT_NAME);
    Supplier<Caller> callerNow = () -> auth.caller(endpoint.permission(), authorization, tenant);
    Caller caller = endpoint.permission() == Permission.NONE ? null : callerNow.get();
    query.refuseOthers(endpoint.query());
    if (body.isPresent() && !endpoint.takesBody()) {
      throw new ApiException(ErrorCode.BODY_NOT_ALLOWED, ErrorCode.BODY_NOT_ALLOWED.meaning())
          .closing();
    }
    Call.Request wire =
        new Call.Request(
            endpoint.method(), path, name -> all(headers, HeaderNames.create(name)), body);
    BodyMemory.Share share = caller == null ? null : memory.share(caller.tenantId());
    progress.share = share;
    if (share != null) {
      body.chargeTo(share);
    }
    return endpoint
        .handler()
        .answer(new Call(wire, match.parameters(), query, caller, callerNow, share));
  }

  /** What must be answered however busy the node is. */
  private static boolean isAboutTheNode(String path) {
    return path.startsWith("/health/") || path.equals("/metrics");
  }

  private static RequestBody body(ServerRequest request, BodyStream stream) {
    ServerRequestHeaders headers = request.headers();
    RequestBody.Head head =
        new RequestBody.Head(
            !stream.isAtEnd(),
            contentLength(headers),
            headers.contains(IDEMPOTENCY_KEY),
            headers.first(HeaderNames.CONTENT_TYPE).orElse(null),
            headers.first(HeaderNames.CONTENT_ENCODING).orElse(null));
    return new RequestBody(head, stream::within);
  }

  /**
   * In bytes; -1 if there is none. {@link carillon.api.connection.RequestFraming} has made sure
   * that it is a number.
   */
  private static long contentLength(ServerRequestHeaders headers) {
    return headers.contains(HeaderNames.CONTENT_LENGTH)
        ? Long.parseLong(headers.get(HeaderNames.CONTENT_LENGTH).get())
        : -1;
  }

  private static List<String> all(ServerRequestHeaders headers, HeaderName name) {
    return headers.contains(name) ? headers.get(name).allValues() : List.of();
  }

  private static ApiException storeProblem(StoreException e, Progress progress) {
    if (e.isUnavailable() || e.isBusy()) {
      LOG.warn(
          "request={} route={} the database is not available: {}",
          progress.requestId,
          progress.route,
          e.getMessage());
      return new ApiException(ErrorCode.UNAVAILABLE, "the database is unreachable or overloaded")
          .with("Retry-After", "1");
    }
    LOG.error("request={} route={} failed", progress.requestId, progress.route, e);
    return new ApiException(ErrorCode.INTERNAL, ErrorCode.INTERNAL.meaning());
  }

  private void send(
      ServerRequest request, Answer answer, Progress progress, ServerResponse response) {
    ServerResponseHeaders headers = response.headers();
    setCommon(headers, progress.requestId);
    answer.headers().forEach((name, value) -> headers.set(HeaderNames.create(name), value));
    if (progress.closes() || answer.live() != null) {
      headers.set(HeaderValues.CONNECTION_CLOSE);
    }
    response.status(Status.create(answer.status()));
    boolean isHead = request.prologue().method().text().equals(HEAD);
    Answer.Written written = answer.written();
    Answer.Live live = answer.live();
    if ((written == null && live == null && answer.body().isEmpty()) || isHead) {
      response.send();
      return;
    }
    headers.set(HeaderNames.CONTENT_TYPE, answer.contentType());
    if (live != null) {
      stream(progress.peer.connection(), live, response);
    } else if (written != null) {
      written.to(response);
    } else {
      response.send(answer.body().getBytes(StandardCharsets.UTF_8));
    }
  }

  private static void stream(
      ClientConnection connection, Answer.Live live, ServerResponse response) {
    try (OutputStream out = response.outputStream()) {
      live.writeTo(out);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (IOException | RuntimeException e) {
      // Who watches goes without saying so; then there is nobody left to answer.
      LOG.debug("a stream ended: {}", Echo.of(String.valueOf(e.getMessage())));
      connection.drop();
    }
  }

  private void setCommon(ServerResponseHeaders headers, String requestId) {
    ON_EVERY_ANSWER.forEach(headers::set);
    headers.set(REQUEST_ID_NAME, requestId);
    // The server's own is in the zone of the machine, which HTTP does not allow.
    headers.set(date.now());
  }

  private void count(ServerRequest request, Progress progress, int status) {
    Duration took = Duration.ofNanos(System.nanoTime() - progress.startedAt);
    Meters meters = counted.computeIfAbsent(new Counted(progress.route, status), this::meters);
    meters.requests().increment();
    meters.took().record(took);
    if (LOG.isDebugEnabled()) {
      LOG.debug(
          "request={} method={} route={} path={} status={} ms={}",
          progress.requestId,
          Echo.of(request.prologue().method().text()),
          progress.route,
          Echo.of(request.prologue().uriPath().rawPath()),
          status,
          took.toMillis());
    }
  }

  /** Looked up once: the registry builds and compares names and tags each time that it is asked. */
  private Meters meters(Counted key) {
    return new Meters(
        requests(key.route(), key.status()),
        Timer.builder("carillon.api.request")
            .description("how long requests took, with what they waited for")
            .tag("route", key.route())
            .register(metrics));
  }

  private Counter requests(String route, int status) {
    return Counter.builder("carillon.api.requests")
        .description("requests, by route and status")
        .tag("route", route)
        .tag("status", String.valueOf(status))
        .register(metrics);
  }

  /** Answers what the server refuses before it becomes a request. */
  @Override
  public TransportResponse handle(
      TransportRequest request,
      EventType type,
      Status status,
      ServerResponseHeaders headers,
      @Nullable String message) {
    String requestId = newRequestId();
    // A message of type OTHER is ours, and may be shown.
    String detail = type == EventType.OTHER ? message : null;
    Answer answer = Problem.answer(transportProblem(status, detail, request.headers()), requestId);
    setCommon(headers, requestId);
    headers.set(HeaderNames.CONTENT_TYPE, answer.contentType());
    requests("none", answer.status()).increment();
    LOG.debug(
        "request={} refused by the server: status={} {}",
        requestId,
        status.code(),
        Echo.of(String.valueOf(message)));
    return TransportResponse.builder()
        .status(Status.create(answer.status()))
        .headers(headers)
        .keepAlive(false)
        .entity(answer.body())
        .build();
  }

  private static ApiException transportProblem(RequestException e) {
    String detail = e.eventType() == EventType.OTHER ? e.getMessage() : null;
    return transportProblem(e.status(), detail, ServerRequestHeaders.create());
  }

  private static ApiException transportProblem(
      Status status, @Nullable String detail, ServerRequestHeaders headers) {
    ErrorCode code =
        switch (status.code()) {
          case 408 -> ErrorCode.REQUEST_TIMEOUT;
          case 413 -> ErrorCode.BODY_TOO_LARGE;
          case 414 -> ErrorCode.URI_TOO_LONG;
          case 431 -> ErrorCode.HEADERS_TOO_LARGE;
          case 503 -> ErrorCode.OVERLOADED;
          case 505 -> ErrorCode.HTTP_VERSION_NOT_SUPPORTED;
          // The server calls a compressed body a bad request, and a request line that it stumbles
          // over its own fault.
          default ->
              headers.contains(HeaderNames.CONTENT_ENCODING)
                  ? ErrorCode.ENCODING_NOT_SUPPORTED
                  : ErrorCode.BAD_REQUEST;
        };
    return new ApiException(code, detail == null ? code.meaning() : detail);
  }

  private static String newRequestId() {
    return HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
  }
}
