package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.testkit.Postgres;
import carillon.testkit.RawReceiver;
import carillon.testkit.Servers;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Delivers to a target with all kinds of responses, and reads the results from the API. */
class TargetResponsesTest {

  private static final DateTimeFormatter HTTP_DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US);

  private static final Duration SLACK = Duration.ofSeconds(4);

  /** Allowed difference between the clocks of node, database and test. */
  private static final Duration CLOCK_SKEW = Duration.ofMillis(100);

  @RegisterExtension static final Servers servers = new Servers();

  private static Carillon api;

  private RawReceiver receiver;
  private RawReceiver plain;
  private volatile Instant date = Instant.EPOCH;

  /** Time from the first response to the second request, by path. */
  private final Map<String, Duration> gaps = new ConcurrentHashMap<>();

  private final Map<String, Long> respondedAt = new ConcurrentHashMap<>();

  @BeforeAll
  static void start() {
    api = servers.startOn(Postgres.freshDatabase(), "--allow-targets", "127.0.0.1").connect();
  }

  @AfterAll
  static void close() {
    api.close();
  }

  @BeforeEach
  void startReceivers() {
    receiver = RawReceiver.with(this::respond);
    plain =
        RawReceiver.with(
            wire -> {
              wire.send(response(400, "")); // what a plain HTTP server responds to a TLS handshake
              wire.awaitClose();
            });
  }

  @AfterEach
  void closeReceivers() throws IOException {
    receiver.close();
    plain.close();
  }

  /** The first attempt gets a response by its path; every later one succeeds. */
  private void respond(RawReceiver.Wire wire) throws IOException {
    RawReceiver.Request request = wire.read();
    String path = request.line().split(" ", -1)[1];
    if (!"1".equals(request.header("Carillon-Attempt"))) {
      gaps.put(path, Duration.ofNanos(System.nanoTime() - respondedAt.getOrDefault(path, 0L)));
      wire.send(response(200, ""));
      return;
    }
    respondedAt.put(path, System.nanoTime());
    switch (path) {
      case "/seven" -> wire.send(response(503, "Retry-After: 7\r\n"));
      case "/date" -> {
        date = Instant.now().plusSeconds(5);
        String text = HTTP_DATE.format(date.atZone(ZoneOffset.UTC));
        wire.send(response(503, "Retry-After: " + text + "\r\n"));
      }
      case "/negative" -> wire.send(response(503, "Retry-After: -5\r\n"));
      case "/float" -> wire.send(response(503, "Retry-After: 1e9\r\n"));
      case "/two" -> wire.send(response(503, "Retry-After: 7\r\nRetry-After: 8\r\n"));
      case "/years" -> wire.send(response(503, "Retry-After: 315360000\r\n"));
      case "/closed" -> wire.reset();
      case "/garbage" -> wire.send("\u0000\u0001 what is HTTP?\r\n\r\n");
      default -> wire.send(response(Integer.parseInt(path.substring(1)), ""));
    }
  }

  private static String response(int status, String headers) {
    return "HTTP/1.1 %d Status\r\n%sConnection: close\r\nContent-Length: 2\r\n\r\nno"
        .formatted(status, headers);
  }

  private String create(String type, String url) {
    return api.post(
            "/v1/tasks",
            Map.of(
                "type",
                type,
                "target",
                Map.of("http", Map.of("url", url)),
                "retry",
                Map.of("maxAttempts", 2, "backoff", "fixed", "base", "100ms", "jitter", "none")))
        .path("id")
        .asString();
  }

  private String url(String path) {
    return "http://127.0.0.1:" + receiver.port() + "/" + path;
  }

  private static JsonNode task(String id) {
    return api.get("/v1/tasks/" + id);
  }

  private static JsonNode awaitEnd(String id) {
    await()
        .atMost(Duration.ofSeconds(40))
        .pollInterval(Duration.ofMillis(50))
        .until(() -> !task(id).path("finishedAt").isNull());
    return task(id);
  }

  private static Instant time(JsonNode attempt, String field) {
    return Instant.parse(attempt.path(field).asString());
  }

  @Test
  void every_kind_of_response_is_recorded_and_retried_as_documented() {
    Map<String, String> ids = new TreeMap<>();
    for (String path :
        List.of(
            "seven",
            "date",
            "negative",
            "float",
            "two",
            "years",
            "429",
            "408",
            "500",
            "404",
            "302",
            "closed",
            "garbage",
            "999")) {
      ids.put(path, create("responses", url(path)));
    }
    ids.put("tls", create("responses", "https://127.0.0.1:" + plain.port() + "/"));

    // Not sooner than the target's Retry-After.
    assertThat(assertRetried(ids, "seven", "status", 503))
        .isBetween(seconds(7).minus(CLOCK_SKEW), seconds(7).plus(SLACK));
    assertThat(assertRetried(ids, "date", "status", 503)).isLessThan(seconds(5).plus(SLACK));
    assertThat(time(task(id(ids, "date")).at("/attempts/0"), "startedAt"))
        .isAfterOrEqualTo(Instant.ofEpochSecond(date.getEpochSecond()).minus(CLOCK_SKEW));
    // An invalid Retry-After is ignored.
    for (String path : List.of("negative", "float", "two")) {
      assertThat(assertRetried(ids, path, "status", 503)).as(path).isLessThan(SLACK);
    }
    assertThat(assertRetried(ids, "429", "status", 429)).isLessThan(SLACK);
    assertThat(assertRetried(ids, "408", "status", 408)).isLessThan(SLACK);
    assertThat(assertRetried(ids, "500", "status", 500)).isLessThan(SLACK);
    assertThat(assertRetried(ids, "closed", "broken", null)).isLessThan(SLACK);
    assertThat(assertRetried(ids, "garbage", "protocol", null)).isLessThan(SLACK);
    assertThat(assertRetried(ids, "999", "protocol", 999)).isLessThan(SLACK);

    JsonNode tls = awaitEnd(id(ids, "tls"));
    assertThat(tls.path("status").asString()).isEqualTo("DEAD");
    assertThat(tls.path("attempts")).hasSize(2);
    assertThat(tls.at("/error/kind").asString()).isEqualTo("tls");

    for (String path : List.of("404", "302")) {
      JsonNode dead = awaitEnd(id(ids, path));
      assertThat(dead.path("status").asString()).as(path).isEqualTo("DEAD");
      assertThat(dead.path("attempts")).as(path).hasSize(1);
      assertThat(dead.at("/attempts/0/error/status").asInt()).isEqualTo(Integer.parseInt(path));
      assertThat(dead.at("/attempts/0/output").asString()).isEqualTo("no");
    }

    JsonNode waiting = task(id(ids, "years"));
    assertThat(waiting.path("status").asString()).isEqualTo("PENDING");
    assertThat(
            Duration.between(
                time(waiting.at("/attempts/0"), "endedAt"), time(waiting, "nextAttemptAt")))
        .isBetween(Duration.ofHours(24).minusSeconds(5), Duration.ofHours(24).plusSeconds(5));
  }

  /** Checks that the first attempt failed this way and the second succeeded; returns the gap. */
  private Duration assertRetried(
      Map<String, String> ids, String path, String kind, @Nullable Integer status) {
    JsonNode task = awaitEnd(id(ids, path));
    assertThat(task.path("status").asString()).as(path).isEqualTo("COMPLETED");
    assertThat(task.path("attempts")).as(path).hasSize(2);
    JsonNode error = task.at("/attempts/1/error"); // the newest is first
    assertThat(error.path("kind").asString()).as(path).isEqualTo(kind);
    if (status == null) {
      assertThat(error.path("status").isNull()).as(path).isTrue();
    } else {
      assertThat(error.path("status").asInt()).as(path).isEqualTo(status);
    }
    return Objects.requireNonNull(gaps.get("/" + path), path);
  }

  private static String id(Map<String, String> ids, String path) {
    return String.valueOf(ids.get(path));
  }

  private static Duration seconds(int seconds) {
    return Duration.ofSeconds(seconds);
  }

  @Test
  void a_410_from_the_types_own_target_pauses_the_type_unless_a_code_list_names_it() {
    for (String type : List.of("gone", "only-dead")) {
      api.put(
          "/v1/types/" + type,
          Map.of(
              "target",
              Map.of("http", Map.of("url", url("410"))),
              "deadCodes",
              type.equals("gone") ? List.of() : List.of(410)));
      String id = api.post("/v1/tasks", Map.of("type", type)).path("id").asString();

      assertThat(awaitEnd(id).path("status").asString()).isEqualTo("DEAD");
      assertThat(api.get("/v1/types/" + type).path("paused").asBoolean())
          .isEqualTo(type.equals("gone"));
    }
  }

  @Test
  void a_type_can_override_the_meaning_of_status_codes() {
    api.put(
        "/v1/types/own",
        Map.of(
            "successCodes", List.of(404),
            "retryCodes", List.of("3xx", 422),
            "deadCodes", List.of("500-503")));
    String found = create("own", url("404"));
    String again = create("own", url("302"));
    String later = create("own", url("422"));
    String dead = create("own", url("seven"));

    assertThat(awaitEnd(found).path("status").asString()).isEqualTo("COMPLETED");
    assertThat(awaitEnd(found).path("attempts")).hasSize(1);
    assertThat(awaitEnd(again).path("status").asString()).isEqualTo("COMPLETED");
    assertThat(awaitEnd(again).path("attempts")).hasSize(2);
    assertThat(awaitEnd(later).path("attempts")).hasSize(2);
    assertThat(awaitEnd(dead).path("status").asString()).isEqualTo("DEAD");
    assertThat(awaitEnd(dead).path("attempts")).hasSize(1);
  }
}
