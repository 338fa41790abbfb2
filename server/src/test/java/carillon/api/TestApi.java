package carillon.api;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.connection.SlowClients;
import carillon.api.error.ErrorCode;
import carillon.api.http.ApiConfig;
import carillon.api.http.Health;
import carillon.api.http.Problem;
import carillon.model.KeyText;
import carillon.model.cron.Timetable;
import carillon.model.target.AddressRules;
import carillon.model.target.BrokerName;
import carillon.model.target.HttpTargetRules;
import carillon.store.Memory;
import carillon.store.Store;
import carillon.store.db.Json;
import carillon.store.schedules.StoredSchedule;
import carillon.testkit.World;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A running API on its own database, with short methods to call it. */
public final class TestApi implements AutoCloseable {

  public static final String ADMIN_KEY = "the-admin-key-of-this-test";

  private static final SlowClients.Max MAX = new SlowClients.Max(HttpApi.MAX_CONNECTIONS, 1024, 64);

  public final World world = World.create();
  public final PrometheusMeterRegistry metrics =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  final AtomicReference<Optional<String>> notReady = new AtomicReference<>(Optional.empty());
  final AtomicReference<Optional<String>> notLive = new AtomicReference<>(Optional.empty());

  /** The API's own store, which caches keys for a second. */
  public final Store store;

  public final HttpApi api;

  private final HttpClient client =
      HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();

  private TestApi(
      int databaseRequests,
      Function<StoredSchedule, Timetable> timetables,
      Set<BrokerName> brokers,
      Duration timeout,
      SlowClients.Max max) {
    this.store =
        world.storeOn(world.db, new Memory.Settings(null, Duration.ofDays(30), timetables));
    this.api =
        HttpApi.start(
            config(0, databaseRequests, brokers),
            store,
            new HttpTargetRules(AddressRules.PUBLIC_ONLY),
            health(),
            metrics,
            InstantSource.system(),
            new SlowClients(timeout, max, metrics));
  }

  private Health health() {
    return new Health() {
      @Override
      public Optional<String> notReady() {
        return notReady.get();
      }

      @Override
      public Optional<String> notLive() {
        return notLive.get();
      }
    };
  }

  public static TestApi start() {
    return start(8);
  }

  public static TestApi start(int databaseRequests) {
    return start(databaseRequests, StoredSchedule::timetable);
  }

  /** Starts an API with another calculation of run times for backfills. */
  public static TestApi start(
      int databaseRequests, Function<StoredSchedule, Timetable> timetables) {
    return new TestApi(databaseRequests, timetables, Set.of(), SlowClients.CLIENT_TIMEOUT, MAX);
  }

  /** Starts an API with registered broker clusters. */
  public static TestApi withBrokers(BrokerName... brokers) {
    return new TestApi(
        8, StoredSchedule::timetable, Set.of(brokers), SlowClients.CLIENT_TIMEOUT, MAX);
  }

  /** Starts an API with other limits for clients. */
  public static TestApi withClients(Duration timeout, SlowClients.Max max) {
    return new TestApi(8, StoredSchedule::timetable, Set.of(), timeout, max);
  }

  static ApiConfig config(int port, int databaseRequests) {
    return config(port, databaseRequests, Set.of());
  }

  private static ApiConfig config(int port, int databaseRequests, Set<BrokerName> brokers) {
    return new ApiConfig(
        "127.0.0.1",
        port,
        true,
        HexFormat.of().formatHex(KeyText.sha256(ADMIN_KEY)),
        new SecretKeySpec(new byte[32], "HmacSHA256"),
        databaseRequests,
        Duration.ofSeconds(2),
        1024,
        brokers,
        "test",
        ApiConfig.Metrics.OPEN,
        null);
  }

  public int port() {
    return api.port();
  }

  /** A request that is not sent yet. */
  public final class Request {

    private final HttpRequest.Builder builder;
    private final String method;
    private HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.noBody();

    private Request(String method, String path) {
      this.method = method;
      this.builder =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port() + path))
              .timeout(Duration.ofSeconds(30));
    }

    public Request as(String key) {
      return header("Authorization", "Bearer " + key);
    }

    public Request header(String name, String value) {
      builder.header(name, value);
      return this;
    }

    public Request json(String text) {
      body = HttpRequest.BodyPublishers.ofString(text);
      return header("Content-Type", "application/json");
    }

    public Request bytes(String contentType, byte[] bytes) {
      body = HttpRequest.BodyPublishers.ofByteArray(bytes);
      return header("Content-Type", contentType);
    }

    Request chunked(byte[] bytes) {
      body = HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(bytes));
      return header("Content-Type", "application/json");
    }

    public Reply send() {
      try {
        return new Reply(
            client.send(
                builder.method(method, body).build(), HttpResponse.BodyHandlers.ofString()));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(e);
      }
    }
  }

  /** A response. */
  public record Reply(HttpResponse<String> response) {

    public int status() {
      return response.statusCode();
    }

    public String body() {
      return response.body();
    }

    public JsonNode json() {
      return Json.MAPPER.readTree(response.body());
    }

    public String text(String field) {
      return json().get(field).asString();
    }

    public @Nullable String header(String name) {
      return response.headers().firstValue(name).orElse(null);
    }

    public Reply expect(int status) {
      assertThat(status()).as(body()).isEqualTo(status);
      return this;
    }

    /** Expects success and returns the body. */
    public String expect2xx() {
      assertThat(status()).as(body()).isBetween(200, 299);
      return body();
    }

    /** Expects a problem document with this code. */
    public Reply expect(ErrorCode code) {
      expect(code.status());
      assertThat(header("content-type")).isEqualTo(Problem.MEDIA_TYPE);
      assertThat(text("code")).as(body()).isEqualTo(code.code());
      assertThat(json().get("status").asInt()).isEqualTo(code.status());
      assertThat(text("type")).isEqualTo("/docs#" + code.code());
      return this;
    }
  }

  public Request request(String method, String path) {
    return new Request(method, path);
  }

  public Request get(String path) {
    return request("GET", path).as(ADMIN_KEY);
  }

  public Request post(String path) {
    return request("POST", path).as(ADMIN_KEY);
  }

  public Request put(String path) {
    return request("PUT", path).as(ADMIN_KEY);
  }

  public Request patch(String path) {
    return request("PATCH", path).as(ADMIN_KEY);
  }

  public Request delete(String path) {
    return request("DELETE", path).as(ADMIN_KEY);
  }

  /** Creates a task and returns its ID. */
  public String task(String json) {
    return post("/v1/tasks").json(json).send().expect(202).text("id");
  }

  /** Creates a key with a role in a tenant, which is created if needed. */
  public String key(String tenant, String role, String... types) {
    put("/v1/tenants/" + tenant).json("{}").send().expect(200);
    String list =
        types.length == 0 ? "" : ", \"types\": [\"" + String.join("\", \"", types) + "\"]";
    return post("/v1/keys")
        .header("Carillon-Tenant", tenant)
        .json("{\"name\": \"test\", \"role\": \"%s\"%s}".formatted(role, list))
        .send()
        .expect(201)
        .text("key");
  }

  @Override
  public void close() {
    client.close();
    api.close();
    world.close();
  }
}
