package carillon.api.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.api.error.Limits;
import carillon.api.http.Auth;
import carillon.api.http.Caller;
import carillon.api.http.DatabaseGate;
import carillon.api.http.Permission;
import carillon.engine.Feed;
import carillon.store.stats.Events;
import carillon.testkit.World;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EventApiTest {

  private static TestApi api;

  @BeforeAll
  static void start() {
    api = TestApi.start();
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  /** A client that reads events. */
  private static final class Watcher implements AutoCloseable {

    private final HttpClient client = HttpClient.newHttpClient();
    private final HttpResponse<InputStream> response;
    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final Thread reader;

    Watcher(TestApi api, String query) {
      try {
        this.response =
            client.send(
                HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + api.port() + "/v1/events" + query))
                    .header("Authorization", "Bearer " + TestApi.ADMIN_KEY)
                    .build(),
                HttpResponse.BodyHandlers.ofInputStream());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(e);
      }
      this.reader = Thread.ofVirtual().start(this::read);
    }

    private void read() {
      try (InputStream body = response.body()) {
        byte[] some = new byte[8192];
        for (int n = body.read(some); n >= 0; n = body.read(some)) {
          received.write(some, 0, n);
        }
        received.writeBytes("the end".getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        received.writeBytes("cut off".getBytes(StandardCharsets.UTF_8));
      }
    }

    String received() {
      return received.toString(StandardCharsets.UTF_8);
    }

    String header(String name) {
      return response.headers().firstValue(name).orElse("none");
    }

    @Override
    public void close() {
      client.shutdownNow();
      reader.interrupt();
    }
  }

  @Test
  void changes_on_another_node_are_sent_as_server_sent_events() {
    try (World other = api.world.anotherProcess();
        Feed feed = new Feed(other.store.events(), other.catalog, other.clock, () -> "other");
        Watcher watcher = new Watcher(api, "?stats=false&type=t")) {
      other.db.transitions().listen(feed);
      feed.start(_ -> {});
      assertThat(watcher.response.statusCode()).isEqualTo(200);
      assertThat(watcher.header("content-type")).isEqualTo("text/event-stream");
      assertThat(watcher.header("cache-control")).isEqualTo("no-store");
      assertThat(watcher.header("x-accel-buffering")).isEqualTo("no");

      await()
          .until(
              () -> {
                other.discard(); // the other node reads the watched tenants every two seconds
                return watcher.received().indexOf("event: task") > 0;
              });

      assertThat(watcher.received())
          .startsWith("retry: 2000\n\n")
          .contains("\"type\":\"t\",\"from\":null,\"to\":\"PENDING\"")
          .doesNotContain("event: stats");
      assertThat(api.request("GET", "/metrics").send().body()).contains("carillon_streams 1.0");
    }
  }

  @Test
  void statistics_are_sent_immediately_and_a_disconnected_client_is_removed() {
    Watcher watcher = new Watcher(api, "");
    await().until(() -> watcher.received().indexOf("event: stats\ndata: {") > 0);
    assertThat(streams(api)).isPositive();
    watcher.close();

    // The next write finds that the client has disconnected.
    await()
        .atMost(Duration.ofSeconds(15))
        .until(
            () -> {
              api.world
                  .store
                  .events()
                  .write(
                      List.of(new Events.Event(World.TENANT, api.world.clock.instant(), null, 1)),
                      "another");
              return streams(api) == 0;
            });
  }

  private static int streams(TestApi api) {
    return (int) api.metrics.get("carillon.streams").gauge().value();
  }

  @Test
  void a_head_request_opens_no_stream() {
    int before = streams(api);

    TestApi.Reply reply =
        api.request("HEAD", "/v1/events").as(TestApi.ADMIN_KEY).send().expect(200);

    assertThat(reply.body()).isEmpty();
    // A stream opened for the request is closed after the response.
    await().untilAsserted(() -> assertThat(streams(api)).isLessThanOrEqualTo(before));
  }

  @ParameterizedTest
  @CsvSource({
    "?id=nope, INVALID_ID",
    "?id=, INVALID_VALUE",
    "?id=0192f0c1-7d2a-7b3c-8d4e-5f6071829304%2C, INVALID_ID",
    "?type=%20, INVALID_VALUE",
    "?stats=maybe, INVALID_VALUE",
    "?tenant=other, UNSUPPORTED_FILTER"
  })
  void invalid_parameters_are_rejected_before_a_stream_opens(String query, ErrorCode code) {
    api.get("/v1/events" + query).send().expect(code);
  }

  @Test
  void too_many_task_ids_are_rejected() {
    String ids = "0192f0c1-7d2a-7b3c-8d4e-5f6071829304,".repeat(Limits.WATCHED_TASKS);

    TestApi.Reply rejected =
        api.get("/v1/events?id=" + ids + "0192f0c1-7d2a-7b3c-8d4e-5f6071829304")
            .send()
            .expect(ErrorCode.TOO_LONG);

    assertThat(rejected.text("detail")).contains("100 IDs");
  }

  @Test
  void a_stream_requires_a_key_with_access_to_the_tasks() {
    String key = api.key("limited", "producer", "mail");

    api.request("GET", "/v1/events").send().expect(ErrorCode.UNAUTHORIZED);
    api.request("GET", "/v1/events?type=sms").as(key).send().expect(ErrorCode.MISSING_SCOPE);
  }

  @Test
  void a_revoked_key_ends_its_streams() {
    String key = api.key("leaving", "viewer");
    String id = key.substring(key.indexOf('_') + 1, key.lastIndexOf('_'));
    var auth =
        new Auth(
            "00".repeat(32),
            api.store.keys(),
            api.store.tenants(),
            new DatabaseGate(api.world.db, 1));
    Caller caller = auth.caller(Permission.TASKS_READ, List.of("Bearer " + key), List.of());
    EventStream stream =
        new EventStream(
            caller,
            () -> auth.caller(Permission.TASKS_READ, List.of("Bearer " + key), List.of()),
            new EventStream.Filter(null, Set.of(), false),
            _ -> {});
    assertThat(stream.check()).isTrue();
    assertThat(stream.isEnded()).isFalse();
    api.delete("/v1/keys/" + id).header("Carillon-Tenant", "leaving").send().expect(204);

    assertThat(stream.check()).isTrue();

    assertThat(stream.isEnded()).isTrue();
  }

  @Test
  void a_stopping_node_ends_its_streams_immediately() {
    try (TestApi stopping = TestApi.start();
        Watcher watcher = new Watcher(stopping, "")) {
      await().until(() -> watcher.received().indexOf("retry") >= 0);
      long from = System.nanoTime();
      stopping.api.close();

      await().until(() -> watcher.received().indexOf("the end") > 0);
      assertThat(Duration.ofNanos(System.nanoTime() - from))
          .as("less than the grace period of running requests")
          .isLessThan(Duration.ofSeconds(2));
    }
  }
}
