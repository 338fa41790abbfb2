package carillon.api;

import carillon.model.Echo;
import carillon.store.StoreException;
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
final class FrontDoor implements Handler, DirectHandler {

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

  /** Read and thrown away after an early refusal, so that a client still sending hears of it. */
  private static final int DRAINED_BYTES = 4 << 20;

  private final Endpoints endpoints;
  private final Auth auth;
  private final MeterRegistry metrics;
  private final Map<Counted, Meters> counted = new ConcurrentHashMap<>();
  private final SlowClients slowClients;
  private final BodyMemory memory;
  private final HttpDate date;

  FrontDoor(
      Endpoints endpoints,
      Auth auth,
      MeterRegistry metrics,
      SlowClients slowClients,
      InstantSource clock) {
    this.endpoints = endpoints;
    this.auth = auth;
    this.metrics = metrics;
    this.memory = new BodyMemory().measuredBy(metrics);
    this.slowClients = slowClients;
    this.date = new HttpDate(clock);
  }

  private record Counted(String route, int status) {}

  private record Meters(Counter requests, Timer took) {}

  /** What is known about a request so far. */
  private static final class Progress {
    private final String requestId = newRequestId();
    private final long startedAt = System.nanoTime();
    private String route = "none";
    private boolean closes;
    private boolean drains;
    private BodyMemory.@Nullable Share share;

    void giveBackMemory() {
      if (share != null) {
        share.close();
      }
    }
  }

  @Override
  public void handle(ServerRequest request, ServerResponse response) {
    Progress progress = new Progress();
    SlowClients.Connection connection = slowClients.of(request.remotePeer().address());
    try {
      Answer answer = answer(request, progress);
      if (progress.share != null) {
        progress.share.keepFor(answer.body().length());
      }
      connection.waits();
      if (answer.live() != null) {
        count(request, progress, answer.status()); // how long somebody watches is nobody's delay
        try (Answer.Live _ = answer.live()) {
          send(request, answer, progress, connection, response);
        }
        return;
      }
      send(request, answer, progress, connection, response);
      count(request, progress, answer.status());
      if (progress.drains) {
        drain(request);
      } else if (wantsClose(request) || answer.status() == ErrorCode.REQUEST_TIMEOUT.status()) {
        // Left to itself the server would wait for more: of this body, or of the next request.
        connection.drop();
      }
    } finally {
      progress.giveBackMemory();
      connection.waits();
    }
  }

  private static boolean wantsClose(ServerRequest request) {
    return all(request.headers(), HeaderNames.CONNECTION).stream()
        .anyMatch(value -> value.equalsIgnoreCase("close"));
  }

  private Answer answer(ServerRequest request, Progress progress) {
    try {
      return route(request, progress);
    } catch (ApiException e) {
      progress.closes = e.closes();
      progress.drains =
          e.closes() && e.code() != ErrorCode.BAD_REQUEST && e.code() != ErrorCode.REQUEST_TIMEOUT;
      return Problem.answer(e, progress.requestId);
    } catch (StoreException e) {
      return Problem.answer(storeProblem(e, progress), progress.requestId);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Problem.answer(DatabaseGate.overloaded(), progress.requestId);
    } catch (RequestException e) {
      // The server found, while the body was read, that it is not HTTP.
      progress.closes = true;
      return Problem.answer(transportProblem(e.status(), request.headers()), progress.requestId);
    } catch (RuntimeException | Error e) {
      LOG.error("request={} route={} failed", progress.requestId, progress.route, e);
      return Problem.answer(
          new ApiException(ErrorCode.INTERNAL, ErrorCode.INTERNAL.meaning()), progress.requestId);
    }
  }

  private Answer route(ServerRequest request, Progress progress) throws InterruptedException {
    ServerRequestHeaders headers = request.headers();
    refuseBadFraming(headers);
    refuseTooManyHeaders(headers);
    String path = request.prologue().uriPath().rawPath();
    String method = request.prologue().method().text();
    // Whatever can be read can be asked about.
    Endpoints.Match match = endpoints.match(method.equals(HEAD) ? "GET" : method, path);
    Endpoint endpoint = match.endpoint();
    progress.route = endpoint.path();
    Query query = Query.parse(request.prologue().query().rawValue());
    RequestBody body = body(request);
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

  /** Where two readers could disagree on where a request ends, nothing after it can be trusted. */
  private static void refuseBadFraming(ServerRequestHeaders headers) {
    List<String> lengths = all(headers, HeaderNames.CONTENT_LENGTH);
    List<String> encodings = all(headers, HeaderNames.TRANSFER_ENCODING);
    boolean badLength =
        lengths.size() > 1 || (lengths.size() == 1 && !isLength(lengths.getFirst()));
    boolean badEncoding =
        encodings.size() > 1
            || (encodings.size() == 1 && !encodings.getFirst().equalsIgnoreCase("chunked"));
    if (badLength || badEncoding || (!lengths.isEmpty() && !encodings.isEmpty())) {
      throw new ApiException(
              ErrorCode.BAD_REQUEST, "Content-Length and Transfer-Encoding contradict each other")
          .closing();
    }
  }

  private static boolean isLength(String text) {
    boolean digits = !text.isEmpty() && text.length() <= 18;
    for (int i = 0; digits && i < text.length(); i++) {
      digits = text.charAt(i) >= '0' && text.charAt(i) <= '9';
    }
    return digits;
  }

  /** The server's own limit is higher, because its answer does not say what was wrong. */
  private static void refuseTooManyHeaders(ServerRequestHeaders headers) {
    int bytes = 0;
    int count = 0;
    for (Header header : headers) {
      for (String value : header.allValues()) {
        bytes += header.name().length() + value.length() + ": \r\n".length();
        count++;
      }
    }
    if (bytes > Limits.HEADER_BYTES || count > Limits.HEADERS) {
      throw new ApiException(ErrorCode.HEADERS_TOO_LARGE, ErrorCode.HEADERS_TOO_LARGE.meaning())
          .closing();
    }
  }

  private static RequestBody body(ServerRequest request) {
    ServerRequestHeaders headers = request.headers();
    boolean chunked = headers.contains(HeaderNames.TRANSFER_ENCODING);
    List<String> lengths = all(headers, HeaderNames.CONTENT_LENGTH);
    long length = lengths.isEmpty() ? -1 : Long.parseLong(lengths.getFirst());
    RequestBody.Head head =
        new RequestBody.Head(
            chunked || length > 0,
            length,
            headers.contains(IDEMPOTENCY_KEY),
            headers.first(HeaderNames.CONTENT_TYPE).orElse(null),
            headers.first(HeaderNames.CONTENT_ENCODING).orElse(null));
    return new RequestBody(head, () -> request.content().inputStream());
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
      return new ApiException(ErrorCode.UNAVAILABLE, "the database cannot be reached or is busy")
          .with("Retry-After", "1");
    }
    LOG.error("request={} route={} failed", progress.requestId, progress.route, e);
    return new ApiException(ErrorCode.INTERNAL, ErrorCode.INTERNAL.meaning());
  }

  private void send(
      ServerRequest request,
      Answer answer,
      Progress progress,
      SlowClients.Connection connection,
      ServerResponse response) {
    ServerResponseHeaders headers = response.headers();
    setCommon(headers, progress.requestId);
    answer.headers().forEach((name, value) -> headers.set(HeaderNames.create(name), value));
    if (progress.closes) {
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
      headers.set(HeaderValues.CONNECTION_CLOSE);
      stream(connection, live, response);
    } else if (written != null) {
      written.to(response);
    } else {
      response.send(answer.body().getBytes(StandardCharsets.UTF_8));
    }
  }

  private static void stream(
      SlowClients.Connection connection, Answer.Live live, ServerResponse response) {
    try (OutputStream out = connection.watching(response.outputStream())) {
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
    String status = String.valueOf(key.status());
    return new Meters(
        metrics.counter("carillon.api.requests", "route", key.route(), "status", status),
        metrics.timer("carillon.api.request", "route", key.route()));
  }

  private static void drain(ServerRequest request) {
    if (request.headers().contains(HeaderNames.EXPECT)) {
      return; // reading would ask the client to go on
    }
    try {
      request.content().inputStream().skip(DRAINED_BYTES);
    } catch (IOException | RuntimeException e) {
      // Gone, or not HTTP: the connection is closed anyway.
      LOG.debug("request body not drained: {}", Echo.of(String.valueOf(e.getMessage())));
    }
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
    Answer answer = Problem.answer(transportProblem(status, request.headers()), requestId);
    setCommon(headers, requestId);
    headers.set(HeaderNames.CONTENT_TYPE, answer.contentType());
    metrics
        .counter(
            "carillon.api.requests", "route", "none", "status", String.valueOf(answer.status()))
        .increment();
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

  private static ApiException transportProblem(Status status, ServerRequestHeaders headers) {
    ErrorCode code =
        switch (status.code()) {
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
    return new ApiException(code, code.meaning());
  }

  private static String newRequestId() {
    return HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
  }
}
