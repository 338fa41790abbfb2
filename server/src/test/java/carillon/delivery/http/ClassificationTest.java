package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.StatusRules;
import carillon.model.target.StatusRules.Range;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.model.task.RetryPolicy;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The outcome of a task by status, Retry-After header, status rules and retry policy. The task was
 * due 60 s before it failed; there is no jitter.
 */
class ClassificationTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");

  private static RetryPolicy policy(
      int maxAttempts, @Nullable Duration maxAge, RetryPolicy.Backoff backoff, Duration max) {
    return new RetryPolicy(
        maxAttempts, maxAge, backoff, Duration.ofSeconds(10), max, RetryPolicy.Jitter.NONE);
  }

  private static final Duration HOUR = Duration.ofHours(1);

  private static final Map<String, RetryPolicy> POLICIES =
      Map.of(
          "fixed", policy(5, null, RetryPolicy.Backoff.FIXED, HOUR),
          "linear", policy(5, null, RetryPolicy.Backoff.LINEAR, HOUR),
          "exponential", policy(5, null, RetryPolicy.Backoff.EXPONENTIAL, HOUR),
          "capped", policy(5, null, RetryPolicy.Backoff.EXPONENTIAL, Duration.ofSeconds(15)),
          "once", policy(1, null, RetryPolicy.Backoff.FIXED, HOUR),
          "aged 70s", policy(5, Duration.ofSeconds(70), RetryPolicy.Backoff.FIXED, HOUR));

  private static final Map<String, StatusRules> RULES =
      Map.of(
          "usual", StatusRules.DEFAULT,
          "404 is success", new StatusRules(List.of(Range.of(404)), List.of(), List.of()),
          "404 is retried", new StatusRules(List.of(), List.of(Range.of(404)), List.of()),
          "3xx is success", new StatusRules(List.of(new Range(300, 399)), List.of(), List.of()),
          "3xx is retried", new StatusRules(List.of(), List.of(new Range(300, 399)), List.of()),
          "410 is dead", new StatusRules(List.of(), List.of(), List.of(Range.of(410))),
          "410 is retried", new StatusRules(List.of(), List.of(Range.of(410)), List.of()),
          "500-503 is dead", new StatusRules(List.of(), List.of(), List.of(new Range(500, 503))),
          "2xx is dead", new StatusRules(List.of(), List.of(), List.of(new Range(200, 299))));

  @ParameterizedTest(name = "{0}, Retry-After {1}, {2}, {3}, attempt {4}: {5} {6}")
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      textBlock =
          """
          # response         | Retry-After                    | statuses        | policy      | attempt | outcome     | after
          200                | -                              | usual           | fixed       | 1       | COMPLETED   | -
          200                | 7                              | usual           | fixed       | 1       | COMPLETED   | -
          204                | -                              | usual           | once        | 1       | COMPLETED   | -
          299                | -                              | usual           | fixed       | 5       | COMPLETED   | -
          101                | -                              | usual           | fixed       | 1       | DEAD        | -
          # redirects are not followed
          300                | -                              | usual           | fixed       | 1       | DEAD        | -
          302                | 7                              | usual           | fixed       | 1       | DEAD        | -
          304                | -                              | usual           | fixed       | 1       | DEAD        | -
          399                | -                              | usual           | fixed       | 1       | DEAD        | -
          # the target rejects the request
          400                | -                              | usual           | fixed       | 1       | DEAD        | -
          401                | -                              | usual           | fixed       | 1       | DEAD        | -
          403                | -                              | usual           | fixed       | 1       | DEAD        | -
          404                | 7                              | usual           | fixed       | 1       | DEAD        | -
          409                | -                              | usual           | fixed       | 1       | DEAD        | -
          410                | -                              | usual           | fixed       | 1       | DEAD, PAUSE | -
          422                | -                              | usual           | fixed       | 1       | DEAD        | -
          451                | -                              | usual           | fixed       | 1       | DEAD        | -
          499                | -                              | usual           | fixed       | 1       | DEAD        | -
          # retried according to the policy
          408                | -                              | usual           | fixed       | 1       | RETRY       | 10
          425                | -                              | usual           | fixed       | 1       | RETRY       | 10
          429                | -                              | usual           | fixed       | 1       | RETRY       | 10
          500                | -                              | usual           | fixed       | 1       | RETRY       | 10
          501                | -                              | usual           | fixed       | 1       | RETRY       | 10
          502                | -                              | usual           | fixed       | 4       | RETRY       | 10
          503                | -                              | usual           | linear      | 1       | RETRY       | 10
          503                | -                              | usual           | linear      | 4       | RETRY       | 40
          503                | -                              | usual           | exponential | 1       | RETRY       | 10
          503                | -                              | usual           | exponential | 4       | RETRY       | 80
          503                | -                              | usual           | capped      | 4       | RETRY       | 15
          504                | -                              | usual           | fixed       | 5       | DEAD        | -
          599                | -                              | usual           | once        | 1       | DEAD        | -
          503                | -                              | usual           | aged 70s    | 1       | RETRY       | 10
          # Retry-After is a floor
          503                | 7                              | usual           | fixed       | 1       | RETRY       | 10
          503                | 0                              | usual           | fixed       | 1       | RETRY       | 10
          503                | 70                             | usual           | fixed       | 1       | RETRY       | 70
          503                | 70                             | usual           | capped      | 1       | RETRY       | 70
          503                | 70                             | usual           | exponential | 4       | RETRY       | 80
          503                | 70                             | usual           | fixed       | 5       | DEAD        | -
          503                | 11                             | usual           | aged 70s    | 1       | DEAD        | -
          408                | 70                             | usual           | fixed       | 1       | RETRY       | 70
          425                | 70                             | usual           | fixed       | 1       | RETRY       | 70
          429                | 70                             | usual           | fixed       | 1       | RETRY       | 70
          500                | 70                             | usual           | fixed       | 1       | RETRY       | 70
          503                | 86400                          | usual           | fixed       | 1       | RETRY       | 86400
          503                | 86401                          | usual           | fixed       | 1       | RETRY       | 86400
          503                | 315360000                      | usual           | fixed       | 1       | RETRY       | 86400
          503                | 99999999999999999999           | usual           | fixed       | 1       | RETRY       | 86400
          503                | Sun, 15 Nov 2026 10:01:10 GMT  | usual           | fixed       | 1       | RETRY       | 70
          503                | Sunday, 15-Nov-26 10:01:10 GMT | usual           | fixed       | 1       | RETRY       | 70
          503                | Sun Nov 15 10:01:10 2026       | usual           | fixed       | 1       | RETRY       | 70
          503                | Fri, 31 Dec 9999 23:59:59 GMT  | usual           | fixed       | 1       | RETRY       | 86400
          503                | Sun, 15 Nov 2026 09:00:00 GMT  | usual           | fixed       | 1       | RETRY       | 10
          # and ignored unless there is exactly one valid value
          503                | -5                             | usual           | fixed       | 1       | RETRY       | 10
          503                | 1e9                            | usual           | fixed       | 1       | RETRY       | 10
          503                | 70.5                           | usual           | fixed       | 1       | RETRY       | 10
          503                | 70 AND 80                      | usual           | fixed       | 1       | RETRY       | 10
          503                | 70, 80                         | usual           | fixed       | 1       | RETRY       | 10
          503                | 2026-11-15T10:01:10Z           | usual           | fixed       | 1       | RETRY       | 10
          503                | Mon, 15 Nov 2026 10:01:10 GMT  | usual           | fixed       | 1       | RETRY       | 10
          503                | soon                           | usual           | fixed       | 1       | RETRY       | 10
          # according to the type's status rules
          404                | -                              | 404 is success  | fixed       | 1       | COMPLETED   | -
          405                | -                              | 404 is success  | fixed       | 1       | DEAD        | -
          404                | -                              | 404 is retried  | fixed       | 1       | RETRY       | 10
          404                | 70                             | 404 is retried  | fixed       | 1       | RETRY       | 70
          404                | -                              | 404 is retried  | once        | 1       | DEAD        | -
          302                | -                              | 3xx is success  | fixed       | 1       | COMPLETED   | -
          302                | 70                             | 3xx is retried  | fixed       | 1       | RETRY       | 70
          410                | -                              | 410 is dead     | fixed       | 1       | DEAD        | -
          410                | 70                             | 410 is retried  | fixed       | 1       | RETRY       | 70
          410                | -                              | 404 is success  | fixed       | 1       | DEAD, PAUSE | -
          500                | -                              | 500-503 is dead | fixed       | 1       | DEAD        | -
          503                | 70                             | 500-503 is dead | fixed       | 1       | DEAD        | -
          504                | -                              | 500-503 is dead | fixed       | 1       | RETRY       | 10
          200                | -                              | 2xx is dead     | fixed       | 1       | DEAD        | -
          # no status, or an invalid one
          600                | 70                             | usual           | fixed       | 1       | RETRY       | 10
          999                | -                              | 3xx is success  | once        | 1       | DEAD        | -
          CONNECTION         | -                              | usual           | fixed       | 1       | RETRY       | 10
          CONNECTION         | -                              | 500-503 is dead | linear      | 2       | RETRY       | 20
          DNS                | -                              | usual           | fixed       | 1       | RETRY       | 10
          TLS                | -                              | usual           | fixed       | 1       | RETRY       | 10
          BROKEN             | -                              | usual           | fixed       | 1       | RETRY       | 10
          TIMEOUT            | -                              | usual           | exponential | 3       | RETRY       | 40
          CONNECT_TIMEOUT    | -                              | usual           | fixed       | 1       | RETRY       | 10
          PROTOCOL           | -                              | usual           | fixed       | 1       | RETRY       | 10
          PROTOCOL           | -                              | usual           | fixed       | 5       | DEAD        | -
          ADDRESS_NOT_ALLOWED| -                              | usual           | fixed       | 1       | RETRY       | 10
          # an interrupt by our own stop costs no attempt
          interrupted        | -                              | usual           | once        | 1       | RELEASED    | -
          """)
  void a_response_leads_to_this_outcome(
      String response,
      @Nullable String retryAfter,
      String statuses,
      String policy,
      int attempt,
      String outcome,
      @Nullable Integer seconds) {
    DeliveryResult result = result(response, retryAfter, value(RULES, statuses));

    Outcome decided =
        value(POLICIES, policy).decide(task(attempt, true), result, NOW, new Random(1));

    assertThat(named(decided)).isEqualTo(outcome);
    if (decided instanceof Outcome.RetryAt(var readyAt, var _)) {
      assertThat(Duration.between(NOW, readyAt))
          .isEqualTo(Duration.ofSeconds(Objects.requireNonNull(seconds)));
    } else {
      assertThat(seconds).isNull();
    }
  }

  @Test
  void status_410_from_the_tasks_own_target_does_not_pause_the_type() {
    DeliveryResult gone = result("410", null, StatusRules.DEFAULT);

    Outcome decided = RetryPolicy.DEFAULT.decide(task(1, false), gone, NOW, new Random(1));

    assertThat(named(decided)).isEqualTo("DEAD");
  }

  private static <T> T value(Map<String, T> named, String name) {
    return Objects.requireNonNull(named.get(name), name);
  }

  private static DeliveryResult result(
      String response, @Nullable String retryAfter, StatusRules statuses) {
    if (response.equals("interrupted")) {
      return new DeliveryResult.Interrupted();
    }
    if (!Character.isDigit(response.charAt(0))) {
      Failure failure = Failure.of(FailureKind.valueOf(response), "no response");
      return new DeliveryResult.Failed(failure, null);
    }
    List<String> headers = retryAfter == null ? List.of() : List.of(retryAfter.split(" AND ", -1));
    return new TargetResponse(Integer.parseInt(response), headers, null).result(statuses, NOW);
  }

  private static ClaimedTask task(int attempt, boolean targetIsOfType) {
    ClaimedTask task = Attempt.at("http://127.0.0.1/").number(attempt).task();
    return new ClaimedTask(
        task.tenant(),
        task.id(),
        task.lane(),
        task.type(),
        task.priority(),
        task.key(),
        task.attempt(),
        task.lease(),
        NOW.minusSeconds(60),
        NOW.minusSeconds(60),
        NOW,
        null,
        task.payload(),
        task.target(),
        targetIsOfType,
        task.retry(),
        task.timeout(),
        task.signingSecrets(),
        task.crashes(),
        task.statuses(),
        task.scheduleName(),
        task.fireAt());
  }

  private static String named(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed _ -> "COMPLETED";
      case Outcome.RetryAt _ -> "RETRY";
      case Outcome.Dead(var _, var pausesType) -> pausesType ? "DEAD, PAUSE" : "DEAD";
      case Outcome.Released _ -> "RELEASED";
    };
  }
}
