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

/** Delivers to a target that answers in every way there is, and reads what the API says of it. */
class TargetAnswersTest {

  private static final DateTimeFormatter HTTP_DATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US);

  private static final Duration SOON = Duration.ofSeconds(4);

  /** What the clocks of node, database and test may differ by, as far as the node knows. */
  private static final Duration CLOCKS = Duration.ofMillis(100);

  @RegisterExtension static final Servers servers = new Servers();

  private static Carillon api;

  private RawReceiver receiver;
  private RawReceiver plain;
  private volatile Instant date = Instant.EPOCH;

  /** By path, from before the first answer to the second request. */
  private final Map<String, Duration> gaps = new ConcurrentHashMap<>();

  private final Map<String, Long> answered = new ConcurrentHashMap<>();

  @BeforeAll
  static void start() {
    api = servers.startOn(Postgres.freshDatabase(), "--allow-targets", "127.0.0.1").connect();
  }

  @AfterAll
  static void close() {
    api.close();
  }

  @BeforeEach
  void receive() {
    receiver = RawReceiver.that(this::answer);
    plain =
        RawReceiver.that(
            wire -> {
              wire.send(answer(400, "")); // to a greeting in TLS, which it does not understand
              wire.awaitHangUp();
            });
  }

  @AfterEach
  void hangUp() throws IOException {
    receiver.close();
    plain.close();
  }

  /** By the path, at the first attempt; every later one succeeds. */
  private void answer(RawReceiver.Wire wire) throws IOException {
    RawReceiver.Request request = wire.read();
    String path = request.line().split(" ", -1)[1];
    if (!"1".equals(request.header("Carillon-Attempt"))) {
      gaps.put(path, Duration.ofNanos(System.nanoTime() - answered.getOrDefault(path, 0L)));
      wire.send(answer(200, ""));
      return;
    }
    answered.put(path, System.nanoTime());
    switch (path) {
      case "/seven" -> wire.send(answer(503, "Retry-After: 7\r\n"));
      case "/date" -> {
        date = Instant.now().plusSeconds(5);
        String text = HTTP_DATE.format(date.atZone(ZoneOffset.UTC));
        wire.send(answer(503, "Retry-After: " + text + "\r\n"));
      }
      case "/negative" -> wire.send(answer(503, "Retry-After: -5\r\n"));
      case "/float" -> wire.send(answer(503, "Retry-After: 1e9\r\n"));
      case "/two" -> wire.send(answer(503, "Retry-After: 7\r\nRetry-After: 8\r\n"));
      case "/years" -> wire.send(answer(503, "Retry-After: 315360000\r\n"));
      case "/closed" -> wire.reset();
      case "/garbage" -> wire.send("\u0000\u0001 what is HTTP?\r\n\r\n");
      default -> wire.send(answer(Integer.parseInt(path.substring(1)), ""));
    }
  }

  private static String answer(int status, String headers) {
    return "HTTP/1.1 %d Said\r\n%sConnection: close\r\nContent-Length: 2\r\n\r\nno"
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

  private static JsonNode ended(String id) {
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
  void every_answer_shows_as_what_it_is_and_is_retried_when_it_should_be() {
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
      ids.put(path, create("answers", url(path)));
    }
    ids.put("tls", create("answers", "https://127.0.0.1:" + plain.port() + "/"));

    // The floor that the target named, and no sooner.
    assertThat(retried(ids, "seven", "status", 503))
        .isBetween(seconds(7).minus(CLOCKS), seconds(7).plus(SOON));
    assertThat(retried(ids, "date", "status", 503)).isLessThan(seconds(5).plus(SOON));
    assertThat(time(task(id(ids, "date")).at("/attempts/0"), "startedAt"))
        .isAfterOrEqualTo(Instant.ofEpochSecond(date.getEpochSecond()).minus(CLOCKS));
    // What we do not understand is not there.
    for (String path : List.of("negative", "float", "two")) {
      assertThat(retried(ids, path, "status", 503)).as(path).isLessThan(SOON);
    }
    assertThat(retried(ids, "429", "status", 429)).isLessThan(SOON);
    assertThat(retried(ids, "408", "status", 408)).isLessThan(SOON);
    assertThat(retried(ids, "500", "status", 500)).isLessThan(SOON);
    assertThat(retried(ids, "closed", "broken", null)).isLessThan(SOON);
    assertThat(retried(ids, "garbage", "protocol", null)).isLessThan(SOON);
    assertThat(retried(ids, "999", "protocol", 999)).isLessThan(SOON);

    JsonNode tls = ended(id(ids, "tls"));
    assertThat(tls.path("status").asString()).isEqualTo("DEAD");
    assertThat(tls.path("attempts")).hasSize(2);
    assertThat(tls.at("/error/kind").asString()).isEqualTo("tls");

    for (String path : List.of("404", "302")) {
      JsonNode dead = ended(id(ids, path));
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

  /** Checks that the first attempt failed so and the second succeeded; the time between them. */
  private Duration retried(
      Map<String, String> ids, String path, String kind, @Nullable Integer status) {
    JsonNode task = ended(id(ids, path));
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
  void a_target_of_the_type_that_is_gone_pauses_the_type_unless_a_list_names_it() {
    for (String type : List.of("gone", "only-dead")) {
      api.put(
          "/v1/types/" + type,
          Map.of(
              "target",
              Map.of("http", Map.of("url", url("410"))),
              "deadCodes",
              type.equals("gone") ? List.of() : List.of(410)));
      String id = api.post("/v1/tasks", Map.of("type", type)).path("id").asString();

      assertThat(ended(id).path("status").asString()).isEqualTo("DEAD");
      assertThat(api.get("/v1/types/" + type).path("paused").asBoolean())
          .isEqualTo(type.equals("gone"));
    }
  }

  @Test
  void a_type_may_read_the_answers_in_its_own_way() {
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

    assertThat(ended(found).path("status").asString()).isEqualTo("COMPLETED");
    assertThat(ended(found).path("attempts")).hasSize(1);
    assertThat(ended(again).path("status").asString()).isEqualTo("COMPLETED");
    assertThat(ended(again).path("attempts")).hasSize(2);
    assertThat(ended(later).path("attempts")).hasSize(2);
    assertThat(ended(dead).path("status").asString()).isEqualTo("DEAD");
    assertThat(ended(dead).path("attempts")).hasSize(1);
  }
}
