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
import io.micrometer.core.instrument.MeterRegistry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Takes every request through the same steps: match, authenticate, authorize, handle, respond. */
public final class FrontDoor implements Handler, DirectHandler {

  private static final Logger log = LoggerFactory.getLogger(FrontDoor.class);

  static final String REQUEST_ID = "Carillon-Request-Id";

  private static final String HEAD = "HEAD";
  private static final String NO_ROUTE = "none";

  private static final List<Header> COMMON_HEADERS =
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
  private final RequestMeters meters;
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
    this.meters = new RequestMeters(metrics);
    this.memory = memory;
    this.date = new HttpDate(clock);
  }

  /** The state of a request that is being handled. */
  private static final class Progress {
    private final String requestId = newRequestId();
    private final long startedAt = System.nanoTime();
    private final ClientConnection.Peer peer;
    private final BodyStream body;
    private String route = NO_ROUTE;
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
     * Whether the connection is closed after the response. If the body was not read to its end, the
     * next byte does not start the next request.
     */
    private boolean closes() {
      return closes || !body.isAtEnd();
    }

    private void releaseMemory() {
      if (share != null) {
        share.close();
      }
    }
  }

  @Override
  public void handle(ServerRequest request, ServerResponse response) {
    Progress progress = new Progress(request);
    progress.peer.connection().requested();
    boolean closes = true; // also if the response cannot be sent
    try {
      Answer answer = answer(request, progress);
      closes = progress.closes() || answer.live() != null;
      if (progress.share != null) {
        progress.share.keepFor(answer.body().length());
      }
      if (answer.live() != null) {
        count(request, progress, answer.status()); // without the lifetime of the stream
        try (Answer.Live _ = answer.live()) {
          send(request, answer, progress, response);
        }
        return;
      }
      send(request, answer, progress, response);
      count(request, progress, answer.status());
    } finally {
      progress.releaseMemory();
      progress.peer.framing().answered(closes);
    }
  }

  private Answer answer(ServerRequest request, Progress progress) {
    try {
      Answer answer = route(request, progress);
      if (answer.live() != null && progress.peer.framing().isHttp10()) {
        answer.live().close();
        throw new ApiException(
            ErrorCode.HTTP_VERSION_NOT_SUPPORTED,
            "event streams need HTTP/1.1, because HTTP/1.0 has no chunks");
      }
      return answer;
    } catch (ApiException e) {
      progress.closes |= e.closes();
      RequestException fault = progress.body.fault();
      return Problem.answer(fault == null ? e : TransportProblem.of(fault), progress.requestId);
    } catch (LimitReached e) {
      return Problem.answer(TenantFull.error(e), progress.requestId);
    } catch (StoreException e) {
      return Problem.answer(storeProblem(e, progress), progress.requestId);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Problem.answer(DatabaseGate.overloaded(), progress.requestId);
    } catch (RequestException e) {
      // The framing of the body is invalid.
      progress.closes = true;
      return Problem.answer(TransportProblem.of(e), progress.requestId);
    } catch (RuntimeException | Error e) {
      log.error("request failed request={} route={}", progress.requestId, progress.route, e);
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
    // HEAD works wherever GET does.
    Endpoints.Match match = endpoints.match(method.equals(HEAD) ? "GET" : method, path);
    Endpoint endpoint = match.endpoint();
    progress.route = endpoint.path();
    if (progress.peer.connection().isReserved() && !isHealthOrMetrics(path)) {
      throw new ApiException(ErrorCode.OVERLOADED, "too many connections on this node")
          .with("Retry-After", "1");
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

  /** Health checks and metrics are served however busy the node is. */
  private static boolean isHealthOrMetrics(String path) {
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
   * In bytes; -1 without the header. {@link carillon.api.connection.RequestHead} has checked that
   * it is a number.
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
      log.warn(
          "database unavailable request={} route={} error={}",
          progress.requestId,
          progress.route,
          e.getMessage());
      return new ApiException(ErrorCode.UNAVAILABLE, "the database is unreachable or overloaded")
          .with("Retry-After", "1");
    }
    log.error("request failed request={} route={}", progress.requestId, progress.route, e);
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
      // Clients disconnect without notice; then the response has no reader.
      log.debug("event stream ended error={}", Echo.of(String.valueOf(e.getMessage())));
      connection.drop();
    }
  }

  private void setCommon(ServerResponseHeaders headers, String requestId) {
    COMMON_HEADERS.forEach(headers::set);
    headers.set(REQUEST_ID_NAME, requestId);
    // The web server writes it in the zone of the machine, which HTTP does not allow.
    headers.set(date.now());
  }

  private void count(ServerRequest request, Progress progress, int status) {
    Duration took = Duration.ofNanos(System.nanoTime() - progress.startedAt);
    meters.record(progress.route, status, took);
    if (log.isDebugEnabled()) {
      log.debug(
          "request={} method={} route={} path={} status={} ms={}",
          progress.requestId,
          Echo.of(request.prologue().method().text()),
          progress.route,
          Echo.of(request.prologue().uriPath().rawPath()),
          status,
          took.toMillis());
    }
  }

  /** Responds to requests that the web server rejects before it routes them. */
  @Override
  public TransportResponse handle(
      TransportRequest request,
      EventType type,
      Status status,
      ServerResponseHeaders headers,
      @Nullable String message) {
    String requestId = newRequestId();
    // Messages of type OTHER are ours and safe to show.
    String detail = type == EventType.OTHER ? message : null;
    Answer answer =
        Problem.answer(TransportProblem.of(status, detail, request.headers()), requestId);
    setCommon(headers, requestId);
    headers.set(HeaderNames.CONTENT_TYPE, answer.contentType());
    meters.count(NO_ROUTE, answer.status());
    log.debug(
        "rejected request={} status={} error={}",
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

  private static String newRequestId() {
    return HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
  }
}
