package carillon.delivery.http;

import carillon.delivery.Deliverer;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.target.SigningSecret;
import carillon.model.target.StatusRules;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Lease;
import carillon.model.task.RetryPolicy;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Builds a claimed task and delivers it over HTTP. */
public final class Attempt {

  public static final Instant NOW = Instant.parse("2026-11-15T10:00:00.250Z");
  public static final TaskId ID =
      TaskId.parse("0198c0de-0000-7abc-8def-0123456789ab").orElseThrow();
  static final Duration TIMEOUT = Duration.ofSeconds(1);

  private final String url;
  private String method = "POST";
  private final Map<String, String> headers = new HashMap<>();
  private final Set<String> secretHeaders = new HashSet<>();
  private @Nullable String body;
  private @Nullable Duration targetTimeout;
  private @Nullable String payload = "{\"n\":1}";
  private Duration timeout = TIMEOUT;
  private int number = 1;
  private TenantId tenant = TenantId.DEFAULT;
  private List<SigningSecret> secrets = List.of();
  private StatusRules statuses = StatusRules.DEFAULT;
  private @Nullable String key;
  private @Nullable String schedule;
  private @Nullable Instant fireAt;

  private Attempt(String url) {
    this.url = url;
  }

  public static Attempt at(String url) {
    return new Attempt(url);
  }

  /** A deliverer that may connect to loopback addresses, and resolves every name to 127.0.0.1. */
  static HttpDeliverer deliverer() {
    return deliverer(Attempt::everythingIsLocal);
  }

  static HttpDeliverer deliverer(Resolver.Lookup lookup) {
    var rules = new HttpTargetRules(AddressRules.PUBLIC_ONLY.withLoopback());
    return new HttpDeliverer(rules, InstantSource.fixed(NOW), "test", lookup, null);
  }

  static InetAddress[] everythingIsLocal(String host) throws UnknownHostException {
    return new InetAddress[] {InetAddress.ofLiteral("127.0.0.1")};
  }

  Attempt method(String method) {
    this.method = method;
    return this;
  }

  Attempt header(String name, String value) {
    headers.put(name, value);
    return this;
  }

  Attempt secretHeader(String name, String value) {
    secretHeaders.add(name);
    return header(name, value);
  }

  Attempt body(String body) {
    this.body = body;
    return this;
  }

  Attempt payload(@Nullable String payload) {
    this.payload = payload;
    return this;
  }

  Attempt timeout(Duration timeout) {
    this.timeout = timeout;
    return this;
  }

  Attempt targetTimeout(Duration timeout) {
    this.targetTimeout = timeout;
    return this;
  }

  public Attempt number(int number) {
    this.number = number;
    return this;
  }

  Attempt tenant(int tenant) {
    this.tenant = new TenantId(tenant);
    return this;
  }

  Attempt signedWith(SigningSecret... secrets) {
    this.secrets = List.of(secrets);
    return this;
  }

  Attempt statuses(StatusRules statuses) {
    this.statuses = statuses;
    return this;
  }

  public Attempt key(String key) {
    this.key = key;
    return this;
  }

  Attempt firedBy(String schedule, Instant fireAt) {
    this.schedule = schedule;
    this.fireAt = fireAt;
    return this;
  }

  public ClaimedTask task() {
    return new ClaimedTask(
        tenant,
        ID,
        1,
        "invoice.send",
        5,
        key,
        number,
        new Lease(6 + number, new UUID(1, 2)), // each attempt has its own fence
        Instant.parse("2026-11-15T09:59:58.007Z"),
        Instant.parse("2026-11-15T09:59:58.007Z"),
        NOW,
        null,
        payload,
        new Target.Http(url, method, headers, secretHeaders, body, targetTimeout),
        false,
        RetryPolicy.DEFAULT,
        timeout,
        secrets,
        0,
        statuses,
        schedule,
        fireAt);
  }

  /** Starts the attempt on a virtual thread, as the engine does. */
  Running startBy(Deliverer deliverer) {
    ClaimedTask task = task();
    var result = new FutureTask<>(() -> deliverer.deliver(task));
    return new Running(Thread.ofVirtual().start(result), result);
  }

  DeliveryResult by(Deliverer deliverer) {
    return startBy(deliverer).result();
  }

  Failure failureBy(Deliverer deliverer) {
    return failureIn(by(deliverer));
  }

  FailureKind failureKindBy(Deliverer deliverer) {
    return failureBy(deliverer).kind();
  }

  static Failure failureIn(DeliveryResult result) {
    if (result instanceof DeliveryResult.Failed(var failure, var _)) {
      return failure;
    }
    throw new AssertionError("not failed, but " + result);
  }

  /** An attempt that may not have ended yet. */
  record Running(Thread thread, FutureTask<Delivery> future) {

    DeliveryResult result() {
      return delivery().result();
    }

    Delivery delivery() {
      try {
        return future.get(20, TimeUnit.SECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException e) {
        throw new AssertionError(e);
      }
    }
  }
}
