package carillon.delivery.http;

import carillon.delivery.Deliverer;
import carillon.model.target.HiddenValues;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.Target;
import carillon.model.target.TargetUrl;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import org.apache.hc.core5.http.ClassicHttpRequest;
import org.apache.hc.core5.http.ClassicHttpResponse;
import org.apache.hc.core5.http.Header;
import org.apache.hc.core5.http.HttpException;
import org.apache.hc.core5.http.MessageConstraintException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Sends tasks to their HTTP targets. */
public final class HttpDeliverer implements Deliverer, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(HttpDeliverer.class);

  private static final Duration SWEEP_PERIOD = Duration.ofSeconds(5);

  private final HttpTargetRules rules;
  private final InstantSource clock;
  private final Requests requests;
  private final Urls urls;
  private final Resolver resolver;
  private final Connections connections;

  /** One thread for all deadlines: it only closes sockets, which does not block. */
  private final ScheduledThreadPoolExecutor timer;

  /**
   * @param version sent in User-Agent
   */
  public HttpDeliverer(HttpTargetRules rules, InstantSource clock, String version) {
    this(rules, clock, version, InetAddress::getAllByName, null);
  }

  /**
   * @param tls the trusted certificates; null for the JDK's
   */
  HttpDeliverer(
      HttpTargetRules rules,
      InstantSource clock,
      String version,
      Resolver.Lookup lookup,
      @Nullable SSLContext tls) {
    this.rules = rules;
    this.clock = clock;
    this.requests = new Requests(version);
    this.urls = new Urls(rules);
    this.resolver = new Resolver(rules, lookup);
    this.connections = new Connections((tls == null ? defaultTls() : tls).getSocketFactory());
    this.timer =
        new ScheduledThreadPoolExecutor(
            1, Thread.ofPlatform().daemon().name("delivery-deadline").factory());
    timer.setRemoveOnCancelPolicy(true);
    long period = SWEEP_PERIOD.toMillis();
    var _ = timer.scheduleWithFixedDelay(connections::sweep, period, period, TimeUnit.MILLISECONDS);
  }

  @Override
  public Delivery deliver(ClaimedTask task) {
    if (!(task.target() instanceof Target.Http target)) {
      throw new IllegalArgumentException("task " + task.id() + " has no HTTP target");
    }
    Duration timeout = target.timeout() != null ? target.timeout() : task.timeout();
    var deadline = new Deadline(timeout);
    ScheduledFuture<?> alarm;
    try {
      alarm = timer.schedule(deadline::pass, timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      return Delivery.unsent(new DeliveryResult.Interrupted());
    }
    try {
      return attempt(task, target, deadline);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return Delivery.unsent(new DeliveryResult.Interrupted());
    } catch (IOException e) {
      return Delivery.unsent(connectFailure(e, deadline));
    } catch (RuntimeException e) {
      return Delivery.unsent(unexpected(task, e));
    } finally {
      alarm.cancel(false);
    }
  }

  private Delivery attempt(ClaimedTask task, Target.Http target, Deadline deadline)
      throws InterruptedException, IOException {
    TargetUrl url = urls.allowed(target.url());
    if (url == null) {
      String why = rules.checkUrl(target.url()).orElseThrow().message();
      return Delivery.unsent(failed(FailureKind.ADDRESS_NOT_ALLOWED, why));
    }
    if (HiddenValues.areIn(target)) {
      return Delivery.unsent(withoutSecrets(target));
    }
    return switch (resolver.resolve(url, deadline.left())) {
      case Resolver.Resolution.Unknown() when deadline.hasPassed() ->
          throw new ConnectException("DNS lookup timed out");
      case Resolver.Resolution.Unknown() ->
          Delivery.unsent(failed(FailureKind.DNS, "DNS lookup failed"));
      case Resolver.Resolution.Denied() ->
          Delivery.unsent(
              failed(
                  FailureKind.ADDRESS_NOT_ALLOWED,
                  "target address not allowed; see --allow-targets"));
      case Resolver.Resolution.Vetted(var addresses) -> {
        ClassicHttpRequest request = requests.of(task, target, url, clock.instant());
        Connection connection = connections.to(url, addresses, task.tenant(), deadline);
        yield new Delivery(
            send(task, target, connection, request, deadline), Requests.described(request, target));
      }
    };
  }

  /** From here on the target may have received the request, whatever the result. */
  private DeliveryResult send(
      ClaimedTask task,
      Target.Http target,
      Connection connection,
      ClassicHttpRequest request,
      Deadline deadline) {
    try {
      return exchange(connection, request, deadline)
          .withoutSecretsOf(target)
          .result(task.statuses(), clock.instant());
    } catch (IOException | HttpException e) {
      return exchangeFailure(e, deadline);
    } catch (RuntimeException e) {
      return unexpected(task, e);
    }
  }

  private TargetResponse exchange(
      Connection connection, ClassicHttpRequest request, Deadline deadline)
      throws IOException, HttpException {
    boolean reusable = false;
    boolean whole = false;
    try {
      ClassicHttpResponse response = connection.exchange(request);
      var body = new BodyExcerpt();
      whole = connection.readBody(response, body);
      reusable = whole && connection.mayBeReused(request, response);
      return new TargetResponse(response.getCode(), retryAfter(response), body.text());
    } finally {
      boolean inTime = deadline.release();
      if (reusable && inTime) {
        connections.keep(connection);
      } else if (whole) {
        connection.close();
      } else {
        connection.abort();
      }
    }
  }

  private static List<String> retryAfter(ClassicHttpResponse response) {
    return Arrays.stream(response.getHeaders("Retry-After")).map(Header::getValue).toList();
  }

  /** Tenants see only the class of a failure: details would let them map the operator's network. */
  private static DeliveryResult connectFailure(IOException e, Deadline deadline) {
    if (Thread.currentThread().isInterrupted()) {
      return new DeliveryResult.Interrupted();
    }
    if (deadline.hasPassed()) {
      return failed(
          FailureKind.CONNECT_TIMEOUT, "connection timed out after " + millis(deadline) + " ms");
    }
    return e instanceof SSLException
        ? failed(FailureKind.TLS, "TLS handshake failed")
        : failed(FailureKind.CONNECTION, "connection failed");
  }

  private static DeliveryResult exchangeFailure(Exception e, Deadline deadline) {
    if (Thread.currentThread().isInterrupted()) {
      return new DeliveryResult.Interrupted();
    }
    if (deadline.hasPassed()) {
      return failed(FailureKind.TIMEOUT, "no response within " + millis(deadline) + " ms");
    }
    return switch (e) {
      case HttpException _ -> failed(FailureKind.PROTOCOL, "response is not valid HTTP/1.1");
      case MessageConstraintException _ ->
          failed(FailureKind.PROTOCOL, "response headers too large");
      default -> failed(FailureKind.BROKEN, "connection lost before a response");
    };
  }

  private static long millis(Deadline deadline) {
    return deadline.timeout().toMillis();
  }

  /** A response must never kill the thread that records its result. */
  private static DeliveryResult unexpected(ClaimedTask task, RuntimeException e) {
    log.error("attempt failed unexpectedly task={} attempt={}", task.id(), task.attempt(), e);
    return failed(FailureKind.PROTOCOL, "internal error during delivery");
  }

  /** Dead immediately: only a person can supply a secret that the archive did not contain. */
  private static DeliveryResult withoutSecrets(Target.Http target) {
    return new DeliveryResult.Refused(
        Failure.of(
            FailureKind.CREDENTIAL_MISSING,
            "the value of "
                + String.join(", ", HiddenValues.namesIn(target))
                + " was not in the archive that the task was restored from; set the task's"
                + " target"));
  }

  private static DeliveryResult failed(FailureKind kind, String message) {
    return new DeliveryResult.Failed(Failure.of(kind, message), null);
  }

  private static SSLContext defaultTls() {
    try {
      return SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("the JDK's default TLS settings cannot be loaded", e);
    }
  }

  /** Closes idle connections. Running attempts keep their deadlines. */
  @Override
  public void close() {
    timer.shutdown();
    resolver.close();
    connections.close();
  }
}
