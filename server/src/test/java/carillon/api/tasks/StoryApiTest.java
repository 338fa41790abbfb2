package carillon.api.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.api.TestApi;
import carillon.api.error.ErrorCode;
import carillon.model.target.TraceParent;
import carillon.model.task.Attempted;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/** The recorded attempts and transitions of a task. */
class StoryApiTest {

  private static final int ATTEMPTS = 250;

  static TestApi api;
  static String old;

  @BeforeAll
  static void start() {
    api = TestApi.start();
    api.world.node("node");
    old = api.task("{\"type\": \"old\", \"delay\": \"1h\"}"); // not due, so never claimed
    String day = api.world.value("SELECT partition FROM carillon.task WHERE id = '" + old + "'");
    api.world.sql(
        """
        INSERT INTO carillon.attempt (tenant, task, partition, attempt, fence, started_at, ended_at, outcome)
        SELECT 1, '%s', '%s', n, n, now(), now(), 'RETRIED' FROM generate_series(1, %d) n
        """
            .formatted(old, day, ATTEMPTS));
    api.world.sql(
        """
        INSERT INTO carillon.transition (tenant, task, partition, at, from_state, to_state, fence, who, reason)
        SELECT 1, '%s', '%s', now() + n * interval '1 us', 'RUNNING', 'PENDING', n, 'node', 'DNS'
        FROM generate_series(1, %d) n
        """
            .formatted(old, day, ATTEMPTS));
    api.world.sql("UPDATE carillon.task SET fence = " + ATTEMPTS + " WHERE id = '" + old + "'");
  }

  @AfterAll
  static void stop() {
    api.close();
  }

  /** Reads all pages from a cursor on and returns the fences of their items. */
  private static List<Integer> readPages(String path, int limit, @Nullable String cursor) {
    List<Integer> fences = new ArrayList<>();
    String next = cursor;
    do {
      String query = "?limit=" + limit + (next == null ? "" : "&cursor=" + next);
      JsonNode page = api.get(path + query).send().expect(200).json();
      page.get("items").forEach(item -> fences.add(item.get("fence").asInt()));
      assertThat(page.get("items").size()).isLessThanOrEqualTo(limit + 1);
      next = page.get("nextCursor").asString(null);
    } while (next != null);
    return fences;
  }

  private static List<Integer> descending(int from, int to) {
    return IntStream.rangeClosed(to, from).boxed().toList().reversed();
  }

  @Test
  void pages_list_every_attempt_once_newest_first() {
    assertThat(readPages("/v1/tasks/" + old + "/attempts", 100, null))
        .isEqualTo(descending(ATTEMPTS, 1));
    assertThat(readPages("/v1/tasks/" + old + "/attempts", 125, null))
        .isEqualTo(descending(ATTEMPTS, 1));
  }

  @Test
  void pages_list_every_transition_once_and_the_creation_last() {
    assertThat(readPages("/v1/tasks/" + old + "/transitions", 100, null))
        .isEqualTo(descending(ATTEMPTS, 0));
    assertThat(readPages("/v1/tasks/" + old + "/transitions", 125, null))
        .isEqualTo(descending(ATTEMPTS, 0));
  }

  @Test
  void a_task_shows_its_newest_history_and_cursors_to_the_rest() {
    JsonNode task = api.get("/v1/tasks/" + old).send().expect(200).json();

    assertThat(task.get("attempts").size()).isEqualTo(100);
    assertThat(task.get("attempts").get(0).get("fence").asInt()).isEqualTo(ATTEMPTS);
    assertThat(task.get("transitions").get(0).get("cause").asString()).isEqualTo("not_reached");
    assertThat(
            readPages("/v1/tasks/" + old + "/attempts", 100, task.get("attemptsCursor").asString()))
        .isEqualTo(descending(ATTEMPTS - 100, 1));
    assertThat(
            readPages(
                "/v1/tasks/" + old + "/transitions", 100, task.get("transitionsCursor").asString()))
        .isEqualTo(descending(ATTEMPTS - 100, 0));
  }

  @Test
  void a_task_shows_its_attempts_and_transitions_in_the_order_of_their_lists() {
    String id = api.task("{\"type\": \"retried\", \"target\": {\"discard\": {}}}");
    var failure = Failure.of(FailureKind.TIMEOUT, "too slow");
    for (Outcome outcome :
        List.of(
            new Outcome.RetryAt(Instant.now().minusSeconds(1), failure),
            new Outcome.Dead(failure, false))) {
      var attempted = new Attempted(api.world.claimOne("node"), outcome);
      api.world.store.outcomes().finishAttempts(List.of(attempted), Set.of(), "node");
    }

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();

    for (String list : List.of("attempts", "transitions")) {
      String path = "/v1/tasks/" + id + "/" + list;
      JsonNode listed = api.get(path).send().expect(200).json().get("items");
      assertThat(task.get(list)).as(list).isEqualTo(listed);
      assertThat(listed.size()).as(list).isGreaterThan(1);
    }
  }

  @Test
  void a_short_history_is_shown_completely() {
    String id = api.task("{\"type\": \"short\", \"target\": {\"discard\": {}}}");
    var claimed = api.world.claimOne("node");
    var failure = new Failure(FailureKind.STATUS, "HTTP 503 from target", 503, "<b>\u001b[1m");
    var dead =
        new Attempted(
            claimed, new Outcome.Dead(failure, false), "{\"method\":\"POST\",\"headers\":{}}");
    String trace = TraceParent.of(claimed.id(), claimed.lease().fence());
    api.world.store.outcomes().finishAttempts(List.of(dead), Set.of(), "node");

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();
    JsonNode attempt = task.get("attempts").get(0);

    assertThat(task.get("attemptsCursor").isNull()).isTrue();
    assertThat(task.get("transitionsCursor").isNull()).isTrue();
    assertThat(task.get("crashes").asInt()).isZero();
    assertThat(attempt.get("by").asString()).isEqualTo("node");
    assertThat(attempt.get("duration").asString()).matches("PT[0-9.]+S");
    assertThat(attempt.get("status").asInt()).isEqualTo(503);
    assertThat(attempt.get("error").toString())
        .isEqualTo(
            "{\"kind\":\"status\",\"cause\":\"target_failed\","
                + "\"message\":\"HTTP 503 from target\",\"status\":503}");
    assertThat(attempt.get("request").toString())
        .isEqualTo("{\"method\":\"POST\",\"headers\":{\"traceparent\":\"%s\"}}".formatted(trace));
    assertThat(attempt.get("output").asString()).isEqualTo("<b>\u001b[1m");
    assertThat(task.get("transitions").get(0).get("reason").asString()).isEqualTo("STATUS");
    assertThat(task.get("transitions").get(0).get("cause").asString()).isEqualTo("target_failed");
    assertThat(api.get("/v1/tasks/" + id).send().body()).doesNotContain("\u001b");
  }

  @Test
  void a_task_waiting_for_its_retry_has_no_lease_holder() {
    String id = api.task("{\"type\": \"again\", \"target\": {\"discard\": {}}}");
    var claimed = api.world.claimOne("node");
    assertThat(api.get("/v1/tasks/" + id).send().json().get("leasedBy").asString())
        .isEqualTo("node");
    var failure = Failure.of(FailureKind.STATUS, "HTTP 503 from target");
    var later = new Outcome.RetryAt(Instant.now().plusSeconds(3_600), failure);
    api.world
        .store
        .outcomes()
        .finishAttempts(List.of(new Attempted(claimed, later)), Set.of(), "node");

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();

    assertThat(task.get("leasedBy").isNull()).isTrue();
    assertThat(task.get("attempts").get(0).get("by").asString()).isEqualTo("node");
    assertThat(task.has("waitingFor")).isFalse();
    JsonNode listed = api.get("/v1/tasks?type=again").send().expect(200).json();
    assertThat(listed.get("items").get(0).get("leasedBy").isNull()).isTrue();
  }

  @Test
  void a_suspect_shows_why_it_waits() {
    String id = api.task("{\"type\": \"suspected\", \"delay\": \"1h\"}");
    api.world.sql("UPDATE carillon.task SET crashes = 2 WHERE id = '" + id + "'");

    JsonNode task = api.get("/v1/tasks/" + id).send().expect(200).json();

    JsonNode why = task.get("waitingFor").get(0);
    assertThat(task.get("waitingFor").size()).isEqualTo(1);
    assertThat(why.get("reason").asString()).isEqualTo("suspect");
    assertThat(why.get("since")).isEqualTo(task.get("nextAttemptAt"));
    assertThat(why.get("text").asString()).startsWith("2 nodes died while running this task.");
  }

  @Test
  void a_suspect_held_back_by_a_node_shows_why_it_waits() {
    String id =
        api.task(
            "{\"type\": \"held\", \"target\": {\"http\": {\"url\": \"https://example.com/\"}}}");
    api.world.claimOne("node");
    api.world.sql("UPDATE carillon.task SET crashes = 1 WHERE id = '" + id + "'");

    JsonNode held = api.get("/v1/tasks/" + id).send().expect(200).json();
    api.world.sql(
        "UPDATE carillon.node SET suspects = ARRAY['" + id + "'::uuid] WHERE id = 'node'");
    JsonNode started = api.get("/v1/tasks/" + id).send().expect(200).json();

    assertThat(held.get("status").asString()).isEqualTo("RUNNING");
    assertThat(held.get("waitingFor").get(0).get("reason").asString()).isEqualTo("suspect");
    assertThat(held.get("waitingFor").get(0).get("since")).isEqualTo(held.get("startedAt"));
    assertThat(started.has("waitingFor")).isFalse();
  }

  static List<String> otherRequests() {
    return List.of(
        "{\"headers\":[]}",
        "{\"a\":1e400,\"b\":1.10}",
        "[" + "7".repeat(1_001) + "]"); // more digits than the API parses
  }

  @ParameterizedTest
  @MethodSource("otherRequests")
  void a_stored_request_in_another_format_is_shown_unchanged(String request) {
    String id = api.task("{\"type\": \"requested\", \"target\": {\"discard\": {}}}");
    var done = new Attempted(api.world.claimOne("node"), new Outcome.Completed(200, null), request);
    api.world.store.outcomes().finishAttempts(List.of(done), Set.of(), "node");

    for (String path : List.of("/v1/tasks/" + id, "/v1/tasks/" + id + "/attempts")) {
      assertThat(api.get(path).send().expect(200).body()).contains("\"request\":" + request);
    }
  }

  @Test
  void a_cursor_is_valid_for_one_list_of_one_task() {
    String other = api.task("{\"type\": \"other\", \"delay\": \"1h\"}");
    String cursor = api.get("/v1/tasks/" + old).send().text("attemptsCursor");

    for (String path :
        List.of(
            "/v1/tasks/" + old + "/transitions", "/v1/tasks/" + other + "/attempts", "/v1/tasks")) {
      api.get(path + "?cursor=" + cursor).send().expect(ErrorCode.INVALID_CURSOR);
    }
    api.get("/v1/tasks/" + old + "/attempts?limit=0").send().expect(ErrorCode.OUT_OF_RANGE);
  }

  @Test
  void the_history_of_a_task_requires_access_to_it() {
    String stranger = api.key("stranger", "viewer");
    String limited = api.key("default", "worker", "another-type");

    for (String list : List.of("attempts", "transitions")) {
      String path = "/v1/tasks/" + old + "/" + list;
      api.request("GET", path).as(stranger).send().expect(ErrorCode.NOT_FOUND);
      api.request("GET", path).as(limited).send().expect(ErrorCode.NOT_FOUND);
      api.get("/v1/tasks/nothing/" + list).send().expect(ErrorCode.INVALID_ID);
    }
  }
}
