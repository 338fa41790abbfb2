package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code carillon schedule ...} with scripted responses. */
class ScheduleCommandsTest {

  @TempDir Path directory;

  private FakeApi api;
  private Terminal terminal;

  @BeforeEach
  void start() throws IOException {
    api = new FakeApi();
    terminal = new Terminal(directory, api.url(), "k");
  }

  @AfterEach
  void stop() {
    api.close();
  }

  /** Runs a schedule command; _ is a space inside an argument. */
  private int run(String line) {
    List<String> words = List.of(("schedule " + line).split(" "));
    return terminal.run(words.stream().map(word -> word.replace('_', ' ')).toArray(String[]::new));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "put n --cron 0_9_*_*_MON-FRI --type t | PUT /v1/schedules/n |"
            + " {\"cron\":\"0 9 * * MON-FRI\",\"type\":\"t\"}",
        "put a/b --every 90s --type t --paused | PUT /v1/schedules/a%2Fb |"
            + " {\"every\":\"90s\",\"type\":\"t\",\"paused\":true}",
        "put n --cron @daily --type t --timezone Z --dst-gap skip --dst-overlap both --start-at A"
            + " --end-at B | PUT /v1/schedules/n |"
            + " {\"cron\":\"@daily\",\"timezone\":\"Z\",\"dst\":{\"gap\":\"skip\",\"overlap\":\"both\"},"
            + "\"startAt\":\"A\",\"endAt\":\"B\",\"type\":\"t\"}",
        "put n --every 1m --type t --payload [1] --key k --priority 7 --retry {\"maxAttempts\":1}"
            + " --http http://x --timeout 5s | PUT /v1/schedules/n |"
            + " {\"every\":\"1m\",\"type\":\"t\",\"payload\":[1],\"key\":\"k\",\"priority\":7,"
            + "\"target\":{\"http\":{\"url\":\"http://x\",\"timeout\":\"5s\"}},\"retry\":{\"maxAttempts\":1}}",
        "put n --every 1m --type t --discard --overlap cancelPrevious --catch-up all"
            + " --catch-up-limit 3 --catch-up-window 1d --jitter 5s --max-runs 9"
            + " --pause-after-failures 2 | PUT /v1/schedules/n |"
            + " {\"every\":\"1m\",\"type\":\"t\",\"target\":{\"discard\":{}},\"overlap\":\"cancelPrevious\","
            + "\"catchUp\":\"all\",\"catchUpLimit\":3,\"catchUpWindow\":\"1d\",\"jitter\":\"5s\","
            + "\"maxRuns\":9,\"pauseAfterFailures\":2}",
        "show n                   | GET /v1/schedules/n |",
        "get n                    | GET /v1/schedules/n |",
        "list --limit 5           | GET /v1/schedules?limit=5 |",
        "delete n                 | DELETE /v1/schedules/n |",
        "pause n                  | POST /v1/schedules/n/pause |",
        "pause n --reason too_hot | POST /v1/schedules/n/pause | {\"reason\":\"too hot\"}",
        "resume n                 | POST /v1/schedules/n/resume |",
        "trigger n                | POST /v1/schedules/n/trigger |",
        "trigger n --payload null | POST /v1/schedules/n/trigger | {\"payload\":null}",
        "runs n                   | GET /v1/schedules/n/fires |",
        "fires n --outcome skipped --from A --to B --limit 2 |"
            + " GET /v1/schedules/n/fires?outcome=skipped&from=A&to=B&limit=2 |",
        "preview *_*_*_*_* --count 3 --from A --name n | POST /v1/schedules/preview |"
            + " {\"cron\":\"* * * * *\",\"count\":3,\"from\":\"A\",\"name\":\"n\"}",
        "preview --every 90s --timezone Z --dst-gap shift | POST /v1/schedules/preview |"
            + " {\"every\":\"90s\",\"timezone\":\"Z\",\"dst\":{\"gap\":\"shift\"}}",
        "backfill n --from A --to B --overlap allow | POST /v1/schedules/n/backfill |"
            + " {\"from\":\"A\",\"to\":\"B\",\"overlap\":\"allow\"}",
        "backfill n --from A --to B --dry-run | POST /v1/schedules/n/backfill |"
            + " {\"from\":\"A\",\"to\":\"B\",\"dryRun\":true}",
        "backfill n --from A --to B --again | POST /v1/schedules/n/backfill |"
            + " {\"from\":\"A\",\"to\":\"B\",\"again\":true}",
        "backfills n --cursor c   | GET /v1/schedules/n/backfills?cursor=c |",
        "backfill-stop n 7        | POST /v1/schedules/n/backfills/7/stop |",
      })
  void each_command_sends_one_request(String line, String request, @Nullable String body) {
    api.responding(200, "{\"items\": []}");

    assertThat(run(line)).as(terminal.err()).isZero();

    assertThat(api.only().line()).isEqualTo(request);
    assertThat(api.only().body()).isEqualTo(body == null ? "" : body);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "put n --type t           | Missing required argument (specify one of these)",
        "put n --cron @daily      | Missing required option: '--type=TYPE'",
        "put n --cron @daily --every 1s --type t | mutually exclusive",
        "put n --every 1s --type t --method GET  | --method, --header, --secret-header and"
            + " --timeout need --http",
        "preview                  | specify a cron expression in quotes, or --every",
        "preview @daily --every 1s | specify a cron expression in quotes, or --every",
        "preview 0 9 * * *        | unknown argument \"9\"",
        "backfill n --from A      | Missing required option: '--to=TIME'",
        "backfill n --from A --to B --watch --interval soon | --interval: \"soon\" is not a",
        "backfill-stop n          | Missing required parameter: 'ID'",
        "apply                    | Missing required option: '--file=FILE|-'",
        "apply -f none.yaml       | none.yaml: cannot read the file: no such file",
        "tirgger n                | unknown command \"tirgger\"; did you mean trigger?",
      })
  void an_error_prints_one_line_and_exits_with_2(String line, String expected) {
    assertThat(run(line)).isEqualTo(2);

    assertThat(terminal.err()).startsWith("carillon: ").contains(expected).hasLineCount(1);
    assertThat(terminal.out()).isEmpty();
    assertThat(api.requests()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "put",
        "get",
        "list",
        "delete",
        "pause",
        "resume",
        "trigger",
        "runs",
        "preview",
        "backfill",
        "backfills",
        "backfill-stop",
        "apply"
      })
  void every_command_has_help(String command) {
    assertThat(run((command + " --help").strip())).isZero();

    assertThat(terminal.out()).startsWith("Usage: carillon schedule");
    assertThat(terminal.err()).isEmpty();
  }

  @Test
  void a_preview_shows_the_description_and_the_runs_with_full_notes() {
    api.responding(
        200,
        """
        {"description": "At 02:30 every day", "timezone": "Europe/Berlin", "timezoneData": "2025b",
         "nextRuns": [
          {"at": "2027-03-27T01:30:00.000Z", "local": "2027-03-27T02:30:00+01:00[Europe/Berlin]", "note": null},
          {"at": "2027-03-28T01:00:00.000Z", "local": "2027-03-28T03:00:00+02:00[Europe/Berlin]",
           "note": "02:30 does not exist on this day: clocks go forward from 02:00 to 03:00; skipped", "skipped": true}]}
        """);

    assertThat(run("preview 30_2_*_*_* --timezone Europe/Berlin")).isZero();

    assertThat(terminal.out())
        .isEqualTo(
            """
            description    At 02:30 every day
            timezone       Europe/Berlin
            timezone data  2025b

            next runs
            LOCAL                           UTC                       NOTE
            Sat 2027-03-27 02:30:00 +01:00  2027-03-27T01:30:00.000Z  -
            Sun 2027-03-28 03:00:00 +02:00  skipped                   02:30 does not exist on this day: clocks go forward from 02:00 to 03:00; skipped
            """);
  }

  @Test
  void a_schedule_shows_its_counters_and_last_run() {
    api.responding(
        200,
        """
        {"name": "n", "counters": {"runs": 5, "completed": 4, "failed": 1, "cancelled": 0,
          "skipped": {"overlap": 3, "paused": 0, "window": 1}},
         "lastRun": {"at": "T", "outcome": "task", "status": "DEAD", "taskId": "7"}}
        """);
    api.responding(
        200,
        "{\"name\": \"n\", \"lastRun\": {\"at\": \"T\", \"outcome\": \"skipped\", \"reason\":"
            + " \"overlap\"}}");

    assertThat(run("show n")).isZero();
    assertThat(run("show n")).isZero();

    assertThat(terminal.out())
        .isEqualTo(
            """
            name      n
            counters  5 runs, 4 completed, 1 failed, 0 cancelled; skipped: 3 overlap, 1 window
            last run  T DEAD, task 7
            name      n
            last run  T skipped: overlap
            """);
  }

  @Test
  void a_schedule_without_next_runs_is_shown_as_such() {
    api.responding(200, "{\"name\": \"n\", \"status\": \"FINISHED\", \"nextRuns\": []}");

    assertThat(run("show n")).isZero();

    assertThat(terminal.out()).contains("FINISHED\n").endsWith("\nno next runs\n");
  }

  @Test
  void a_list_shows_the_rule_and_the_next_run() {
    api.responding(
        200,
        """
        {"items": [
          {"name": "a", "type": "t", "cron": "0 9 * * *", "every": null, "timezone": "UTC",
           "status": "ACTIVE", "nextRun": {"at": "T"}},
          {"name": "b", "type": "t", "cron": null, "every": "PT1M30S", "timezone": "UTC",
           "status": "PAUSED", "nextRun": null}]}
        """);

    assertThat(run("list")).isZero();

    assertThat(terminal.out())
        .isEqualTo(
            """
            NAME  TYPE  STATUS  SCHEDULE   TIMEZONE  NEXT RUN
            a     t     ACTIVE  0 9 * * *  UTC       T
            b     t     PAUSED  90s        UTC       -
            """);
  }

  @Test
  void a_backfill_is_followed_until_it_finishes() {
    String backfill =
        "{\"id\":\"7\",\"status\":\"%s\",\"times\":400,\"created\":%d,\"existing\":2,\"skipped\":1}";
    api.responding(202, backfill.formatted("RUNNING", 0))
        .responding(200, backfill.formatted("RUNNING", 97))
        .responding(200, backfill.formatted("DONE", 397));

    assertThat(run("backfill n --from A --to B --watch --interval 1ms --json")).isZero();

    assertThat(terminal.out()).isEqualTo(backfill.formatted("DONE", 397) + "\n");
    assertThat(terminal.err())
        .isEqualTo(
            """
            RUNNING 0%: 3 of 400 run times: 0 created, 2 already existed, 1 skipped
            RUNNING 25%: 100 of 400 run times: 97 created, 2 already existed, 1 skipped
            DONE 100%: 400 of 400 run times: 397 created, 2 already existed, 1 skipped
            """);
    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsExactly(
            "POST /v1/schedules/n/backfill",
            "GET /v1/schedules/n/backfills/7",
            "GET /v1/schedules/n/backfills/7");
  }

  @Test
  void a_terminal_shows_a_progress_bar() {
    terminal.isTerminal = true;
    api.responding(202, "{\"id\":\"7\",\"status\":\"RUNNING\",\"times\":4,\"created\":2}")
        .responding(200, "{\"id\":\"7\",\"status\":\"STOPPED\",\"times\":4,\"created\":2}");

    assertThat(run("backfill n --from A --to B --watch --interval 1ms")).isZero();

    assertThat(terminal.err())
        .contains("RUNNING [" + "#".repeat(15) + ".".repeat(15) + "] 50%")
        .contains("\r\033[KSTOPPED [");
  }
}
