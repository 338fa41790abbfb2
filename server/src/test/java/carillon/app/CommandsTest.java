package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CommandsTest {

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

  /** Runs a command line; there is no support for quotes. */
  private int run(String line) {
    return terminal.run(line.split(" "));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tsak                        | unknown command \"tsak\"; did you mean task?",
        "--verison                   | unknown option \"--verison\"; did you mean --version?",
        "completion csh              | unknown shell csh. Use bash, zsh or fish",
        "task                        | Missing required subcommand; see carillon task --help",
        "task lst                    | unknown command \"lst\"; did you mean list?",
        "task get                    | Missing required parameter: 'ID'; see carillon task get"
            + " --help",
        "task get a b                | unknown argument \"b\"",
        "task list --statsu DEAD     | unknown option \"--statsu\"; did you mean --status?",
        "task list --limit x         | Invalid value for option '--limit': 'x' is not an int; see"
            + " carillon task list --help",
        "task list --status FAILED   | unknown status FAILED. Use PENDING, RUNNING, COMPLETED,"
            + " DEAD, CANCELLED or EXPIRED",
        "task create t --payload {   | --payload is not JSON (line 1): Unexpected end-of-input",
        "task create t --payload @no | --payload: @no cannot be read: no such file",
        "task create t --method GET  | --method, --header, --secret-header and --timeout need"
            + " --http",
        "task edit 1                 | specify at least one of --payload, --due, --http, --pull,"
            + " --discard, --key, --priority and --retry",
        "task edit 1 --timeout 5s    | --method, --header, --secret-header and --timeout need"
            + " --http",
        "task cancel                 | specify a task ID, or --type and --key",
        "type put t [1]              | the settings must be a JSON object",
        "dead-letter purge           | specify either --all, or at least one of --type, --failure,",
        "dead-letter redrive --all --type t | specify either --all, or at least one of --type,",
        "dead-letter redrive --all --dry-run --interval soon | --interval: \"soon\" is not a",
        "dead-letter purge --error=  | --error must not be empty",
        "dead-letter purge --type t --key= | --key must not be empty",
        "dead-letter purge --type=   | --type must not be empty",
        "dead-letter purge --type t --id= | --id must not be empty",
        "dead-letter purge --type t --metadata==x | --metadata: the name must not be empty",
        "dead-letter purge --type t --metadata= | (NAME=VALUE) should be in KEY=VALUE" + " format",
        "dead-letter redrive --type t --group= | --group must not be empty",
        "dead-letter list --error=   | --error must not be empty",
        "dead-letter groups --type=  | --type must not be empty",
        "redrive stop                | Missing required parameter: 'ID'; see carillon redrive stop"
            + " --help",
        "key create                  | Missing required option: '--role=ROLE'; see carillon key"
            + " create --help",
        "server --prot 1             | unknown option \"--prot\"; did you mean --port?",
        "server --port x             | --port: \"x\" is not a number from 0 to 65535",
        "server --config none        | cannot be read: no such file",
        "migrate --to -1             | --to: -1 is not a version; they start at 0, which is an"
            + " empty schema",
        "top --interval soon         | --interval: \"soon\" is not a duration such as",
        "top --interval 0s           | --interval: \"0s\" is not a duration such as",
        "top --interval -1s          | --interval: \"-1s\" is not a duration such as",
        "top --interval=             | --interval: \"\" is not a duration such as",
        "top --json --metrics        | mutually exclusive",
        "top nodes                   | unknown argument \"nodes\"",
        "top --onec                  | unknown option \"--onec\"; did you mean --once?",
        "task get 1 --url ftp://x    | --url: \"ftp://x\" is not a URL such as"
            + " http://127.0.0.1:8080",
        "task get 1 --url ht_tp:|x   | --url: ",
        "task get 1 --api-key-file x | cannot read the key file ",
      })
  void an_error_prints_one_line_and_exits_with_2(String line, String expected) {
    assertThat(run(line)).isEqualTo(2);

    assertThat(terminal.out()).isEmpty();
    assertThat(terminal.err()).startsWith("carillon: ").contains(expected).hasLineCount(1);
    assertThat(api.requests()).isEmpty();
  }

  @Test
  void due_and_in_are_mutually_exclusive() {
    assertThat(run("task create t --due 2027-01-01T00:00:00Z --in 5s")).isEqualTo(2);

    assertThat(terminal.err()).contains("mutually exclusive").hasLineCount(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--help",
        "help",
        "help task",
        "help task create",
        "completion --help",
        "server --help",
        "migrate --help",
        "task --help",
        "task create --help",
        "task edit --help",
        "task get --help",
        "task list --help",
        "task cancel --help",
        "task run --help",
        "task redrive --help",
        "type --help",
        "type get --help",
        "type list --help",
        "type put --help",
        "type delete --help",
        "type pause --help",
        "type resume --help",
        "key --help",
        "key create --help",
        "key list --help",
        "key revoke --help",
        "dead-letter --help",
        "dead-letter list --help",
        "dead-letter groups --help",
        "dead-letter redrive --help",
        "dead-letter purge --help",
        "redrive --help",
        "redrive list --help",
        "redrive get --help",
        "redrive stop --help",
        "redrive undo --help",
        "audit --help",
        "top --help"
      })
  void every_command_has_help(String line) {
    assertThat(run(line)).isZero();

    assertThat(terminal.out()).startsWith("Usage: carillon");
    assertThat(terminal.err()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "bash, function _picocli_carillon_task_create",
    "zsh, bashcompinit",
    "fish, __fish_seen_subcommand_from task; and __fish_seen_subcommand_from create' -l payload -r"
  })
  void a_shell_gets_a_completion_script(String shell, String expected) {
    assertThat(run("completion " + shell)).isZero();

    assertThat(terminal.out()).contains(expected);
    assertThat(terminal.err()).isEmpty();
  }

  @Test
  void the_version_is_printed() {
    assertThat(run("--version")).isZero();

    assertThat(terminal.out()).startsWith("carillon ").hasLineCount(1);
  }

  @Test
  void without_a_command_the_usage_is_printed() {
    assertThat(terminal.run()).isEqualTo(2);

    assertThat(terminal.err()).contains("Usage: carillon").contains("dead-letter");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "task get a/b                          | GET /v1/tasks/a%2Fb                               "
            + "      |",
        "task attempts a/b --limit 5           | GET /v1/tasks/a%2Fb/attempts?limit=5 |",
        "task list                             | GET /v1/tasks                                     "
            + "      |",
        "task list --type a&b --status DEAD --limit 5 | GET"
            + " /v1/tasks?type=a%26b&status=DEAD&limit=5     |",
        "task list --status dead               | GET /v1/tasks?status=DEAD |",
        "task create t --delay 5s              | POST /v1/tasks |"
            + " {\"type\":\"t\",\"delay\":\"5s\"}",
        "task edit 1 --due-at D                | PATCH /v1/tasks/1 | {\"dueAt\":\"D\"}",
        "task list --metadata a=b --metadata c=d | GET /v1/tasks?metadata.a=b&metadata.c=d         "
            + "      |",
        "task cancel 1                         | POST /v1/tasks/1/cancel                           "
            + "      |",
        "task cancel --type t --key k          | POST /v1/tasks/cancel                             "
            + "      | {\"type\":\"t\",\"key\":\"k\"}",
        "task run 1                            | POST /v1/tasks/1/run                              "
            + "      |",
        "task redrive 1                        | POST /v1/tasks/1/redrive                          "
            + "      |",
        "task create t                         | POST /v1/tasks                                    "
            + "      | {\"type\":\"t\"}",
        "task create t --in 5s --discard       | POST /v1/tasks |"
            + " {\"type\":\"t\",\"delay\":\"5s\",\"target\":{\"discard\":{}}}",
        "task create t --pull --priority 9     | POST /v1/tasks |"
            + " {\"type\":\"t\",\"target\":{\"pull\":{}},\"priority\":9}",
        "task create t --http http://x --method PUT --header a=b | POST /v1/tasks |"
            + " {\"type\":\"t\",\"target\":{\"http\":{\"url\":\"http://x\",\"method\":\"PUT\",\"headers\":{\"a\":\"b\"}}}}",
        "task create t --payload [1] --key k --due D | POST /v1/tasks |"
            + " {\"type\":\"t\",\"payload\":[1],\"dueAt\":\"D\",\"key\":\"k\"}",
        "task create t --max-attempts 3 --unique-for 1h --metadata a=b | POST /v1/tasks |"
            + " {\"type\":\"t\",\"retry\":{\"maxAttempts\":3},\"unique\":{\"for\":\"1h\"},\"metadata\":{\"a\":\"b\"}}",
        "task create t --on-complete http://a --on-dead http://b | POST /v1/tasks |"
            + " {\"type\":\"t\",\"onComplete\":{\"http\":{\"url\":\"http://a\"}},\"onDead\":{\"http\":{\"url\":\"http://b\"}}}",
        "task edit 1 --payload null            | PATCH /v1/tasks/1 | {\"payload\":null}",
        "task edit 1 --http http://x --timeout 5s --retry {\"maxAttempts\":9} | PATCH /v1/tasks/1 |"
            + " {\"target\":{\"http\":{\"url\":\"http://x\",\"timeout\":\"5s\"}},\"retry\":{\"maxAttempts\":9}}",
        "task edit 1 --due D --key k --priority 0 --pull | PATCH /v1/tasks/1 |"
            + " {\"dueAt\":\"D\",\"target\":{\"pull\":{}},\"key\":\"k\",\"priority\":0}",
        "type get t                            | GET /v1/types/t                                   "
            + "      |",
        "type list                             | GET /v1/types                                     "
            + "      |",
        "type put t --http http://x            | PUT /v1/types/t |"
            + " {\"target\":{\"http\":{\"url\":\"http://x\"}}}",
        "type put t --on-dead http://b         | PUT /v1/types/t |"
            + " {\"onDead\":{\"http\":{\"url\":\"http://b\"}}}",
        "type put t {\"priority\":1}           | PUT /v1/types/t                                   "
            + "      | {\"priority\":1}",
        "type delete t                         | DELETE /v1/types/t                                "
            + "      |",
        "type pause t                          | POST /v1/types/t/pause                            "
            + "      |",
        "type resume t                         | POST /v1/types/t/resume                           "
            + "      |",
        "key create --role worker --types a,b  | POST /v1/keys |"
            + " {\"role\":\"worker\",\"types\":[\"a\",\"b\"]}",
        "key create --role viewer --expires-at T | POST /v1/keys |"
            + " {\"role\":\"viewer\",\"expiresAt\":\"T\"}",
        "key list                              | GET /v1/keys                                      "
            + "      |",
        "key revoke 7                          | DELETE /v1/keys/7                                 "
            + "      |",
        "dead-letter list --type t             | GET /v1/dead-letters?type=t                       "
            + "      |",
        "dead-letter redrive --type t --rate 5 | POST /v1/dead-letters/redrive |"
            + " {\"type\":\"t\",\"rate\":5}",
        "dead-letter list --failure dns --status 500 --key k --group g --metadata a=b |"
            + " GET /v1/dead-letters?failure=dns&status=500&key=k&group=g&metadata.a=b |",
        "dead-letter groups --type t --status 503 |"
            + " GET /v1/dead-letters/groups?type=t&status=503 |",
        "dead-letter redrive --group g --dry-run | POST /v1/dead-letters/redrive |"
            + " {\"group\":\"g\",\"dryRun\":true}",
        "redrive list --limit 3                | GET /v1/redrives?limit=3 |",
        "redrive get 7                         | GET /v1/redrives/7 |",
        "redrive stop 7                        | POST /v1/redrives/7/stop |",
        "redrive undo 7                        | POST /v1/redrives/7/undo |",
        "audit --action redrive.stop --subject 7 | GET /v1/audit?action=redrive.stop&subject=7 |",
        "dead-letter purge --all               | POST /v1/dead-letters/purge                       "
            + "      | {\"all\":true}",
        "dead-letter purge --id 1,2            | POST /v1/dead-letters/purge                       "
            + "      | {\"ids\":[\"1\",\"2\"]}",
      })
  void each_command_sends_one_request(String line, String request, @Nullable String body) {
    api.responding(200, "{\"items\": []}");

    assertThat(run(line)).as(terminal.err()).isZero();

    assertThat(api.only().line()).isEqualTo(request);
    assertThat(api.only().body()).isEqualTo(body == null ? "" : body);
    assertThat(api.only().key()).isEqualTo("Bearer k");
  }

  @Test
  void a_payload_comes_from_a_file_or_standard_input() throws IOException {
    api.responding(202, "{\"id\": \"1\"}");
    Files.writeString(directory.resolve("p.json"), "{\"a\": 1}");
    terminal.input = "[2]";

    assertThat(run("task create t --payload @p.json")).isZero();
    assertThat(run("task create t --payload -")).isZero();

    assertThat(api.requests())
        .extracting(FakeApi.Request::body)
        .containsExactly(
            "{\"type\":\"t\",\"payload\":{\"a\":1}}", "{\"type\":\"t\",\"payload\":[2]}");
  }

  @Test
  void the_key_comes_from_the_option_the_variable_or_the_data_directory() throws IOException {
    api.responding(200, "{}");
    Files.createDirectories(directory.resolve("data"));
    Files.writeString(directory.resolve("data/admin-key"), "kept\n");
    Files.writeString(directory.resolve("file"), "filed\n");

    run("type get t --api-key given");
    run("type get t --api-key-file file");
    run("type get t");
    terminal.environment.remove("CARILLON_KEY");
    terminal.environment.put("CARILLON_KEY_FILE", "file");
    run("type get t");
    terminal.environment.remove("CARILLON_KEY_FILE");
    run("type get t --tenant other");

    assertThat(api.requests())
        .extracting(FakeApi.Request::key)
        .containsExactly("Bearer given", "Bearer filed", "Bearer k", "Bearer filed", "Bearer kept");
    assertThat(api.requests().getFirst().tenant()).isNull();
    assertThat(api.requests().getLast().tenant()).isEqualTo("other");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://192.0.2.1:8080",
        "https://carillon.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "http://[2001:db8::1]:8080",
        "http://134744072:8080"
      })
  void the_stored_admin_key_is_never_sent_to_another_machine(String url) throws IOException {
    Files.createDirectories(directory.resolve("data"));
    Files.writeString(directory.resolve("data/admin-key"), "kept\n");
    terminal.environment.remove("CARILLON_KEY");

    assertThat(run("type get t --url " + url)).isEqualTo(2);

    assertThat(terminal.err())
        .contains("no API key for " + url, "is sent to this machine only. Set CARILLON_KEY")
        .hasLineCount(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9"})
  void the_stored_admin_key_is_sent_to_this_machine(String host) throws IOException {
    api.responding(200, "{}");
    Files.createDirectories(directory.resolve("data"));
    Files.writeString(directory.resolve("data/admin-key"), "kept\n");
    terminal.environment.remove("CARILLON_KEY");
    String port = api.url().substring(api.url().lastIndexOf(':'));

    run("type get t --url http://" + host + port);

    // Nothing listens on 127.9.9.9; the key must not be the error.
    assertThat(terminal.err()).doesNotContain("no API key", "warning");
  }

  @Test
  void a_key_sent_over_plain_http_causes_a_warning() {
    run("type get t --api-key given --url https://carillon.invalid:1");

    assertThat(terminal.err()).doesNotContain("warning");

    run("type get t --api-key given --url http://carillon.invalid:1");

    assertThat(terminal.err())
        .contains("warning: the API key is sent to carillon.invalid unencrypted");
  }

  @Test
  void a_missing_key_is_explained() {
    terminal.environment.remove("CARILLON_KEY");

    assertThat(run("type get t")).isEqualTo(2);

    assertThat(terminal.err())
        .contains("no API key. Set CARILLON_KEY or --api-key-file")
        .hasLineCount(1);
  }

  @ParameterizedTest
  @CsvSource({
    "404, 1", "409, 1", "412, 1", "400, 2", "401, 2", "403, 2", "422, 2", "429, 2", "503, 2"
  })
  void an_api_error_prints_one_line_and_sets_the_exit_status(int response, int status) {
    api.responding(
        response,
        "{\"title\": \"No\", \"detail\": \"it is\\n"
            + "not so\", \"errors\": [{\"pointer\": \"/a\", \"message\": \"is bad\"}]}");

    assertThat(run("task get 1")).isEqualTo(status);

    assertThat(terminal.err()).isEqualTo("carillon: it is\\nnot so; /a is bad\n");
    assertThat(terminal.out()).isEmpty();
  }

  @Test
  void an_error_in_the_detail_is_not_repeated() {
    api.responding(
        422,
        "{\"detail\": \"/a: is bad\", \"errors\": [{\"pointer\": \"/a\", \"message\": \"is"
            + " bad\"}]}");

    assertThat(run("task get 1")).isEqualTo(2);

    assertThat(terminal.err()).isEqualTo("carillon: /a: is bad\n");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "task create t --in x        | /delay           | --in: is bad",
        "task create t --http x      | /target/http/url | --http: is bad",
        "task create t --payload [1] | /payload/0       | --payload /0: is bad",
        "task create t               | /type            | TYPE: is bad",
        "task create t               | /unique/for      | --unique-for: is bad",
        "task create t               | /other           | /other: is bad",
      })
  void an_api_error_names_the_option(String line, String pointer, String expected) {
    api.responding(
        422,
        "{\"detail\": \"%s: is bad\", \"errors\": [{\"pointer\": \"%s\", \"message\": \"is bad\"}]}"
            .formatted(pointer, pointer));

    assertThat(run(line)).isEqualTo(2);

    assertThat(terminal.err()).isEqualTo("carillon: " + expected + "\n");
  }

  @Test
  void a_filter_error_names_the_option() {
    api.responding(400, "{\"detail\": \"the parameter dueAfter: is no time\"}");

    assertThat(run("task list --due-after x")).isEqualTo(2);

    assertThat(terminal.err()).isEqualTo("carillon: --due-after: is no time\n");
  }

  @Test
  void an_unreachable_server_is_reported_in_one_line() {
    api.close();

    assertThat(run("task get 1")).isEqualTo(2);

    assertThat(terminal.err())
        .startsWith("carillon: cannot connect to http://127.0.0.1:")
        .hasLineCount(1);
  }

  @Test
  void a_server_that_is_not_carillon_is_reported_in_one_line() {
    api.responding(200, "<html>");

    assertThat(run("task get 1")).isEqualTo(2);

    assertThat(terminal.err()).contains("is not JSON; is this a Carillon server?").hasLineCount(1);
  }

  @Test
  void a_list_is_aligned() {
    api.responding(
        200,
        """
        {"items": [
          {"id": "1", "type": "mail", "key": null, "status": "DEAD", "dueAt": "D", "attempt": 5, "error": "no\\u001b[2J"},
          {"id": "22", "type": "sms", "key": "k", "status": "COMPLETED", "dueAt": "D", "attempt": 1}],
         "nextCursor": "abc"}
        """);

    assertThat(run("task list")).isZero();

    assertThat(terminal.out())
        .isEqualTo(
            """
            ID  TYPE  KEY  STATUS     DUE AT  ATTEMPT  ERROR
            1   mail  -    DEAD       D       5        no\\u001b[2J
            22  sms   k    COMPLETED  D       1        -
            next page: --cursor abc
            """);
  }

  @Test
  void values_are_formatted_for_people() {
    api.responding(
            200,
            """
            {"items": [{"id": "1", "status": "DEAD", "output": "smtp relay down",
              "error": {"kind": "status", "cause": "target_failed", "message": "HTTP 503 from target", "status": 503}}]}
            """)
        .responding(200, "{\"items\": [{\"id\": \"k\", \"types\": []}]}")
        .responding(
            200,
            """
            {"items": [
              {"name": "a", "timeout": "PT10M", "target": {"pull": {}}},
              {"name": "b", "timeout": "PT0.011S", "target": {"http": {"url": "http://x", "method": "PUT"}}}]}
            """)
        .responding(
            200,
            """
            {"name": "n", "every": "PT168H", "dst": {"gap": "shift", "overlap": "first"},
             "retry": {"maxAttempts": 3, "base": "PT1S", "jitter": "full"}, "payload": {"every": "PT1S"}}
            """);

    run("task list");
    assertThat(terminal.out()).contains("HTTP 503: smtp relay down");
    run("key list");
    assertThat(terminal.out()).contains("all");
    run("type list");
    assertThat(terminal.out()).contains("10m      pull").contains("11ms     PUT http://x");
    run("schedule get n");
    assertThat(terminal.out())
        .contains("every    7d\n")
        .contains("dst      gap shift, overlap first\n")
        .contains("retry    max attempts 3, base 1s, jitter full\n")
        .contains("payload  {\"every\":\"PT1S\"}\n");
  }

  @Test
  void an_empty_list_is_reported() {
    api.responding(200, "{\"items\": []}");

    run("task list");

    assertThat(terminal.out()).isEqualTo("no results\n");
  }

  @Test
  void an_object_is_shown_as_lines_with_its_lists_below() {
    api.responding(
        200,
        "{\"id\": \"1\", \"dueAt\": \"D\", \"key\": null, \"payload\": {\"a\": 1}, \"attempts\":"
            + " [{\"attempt\": 1, \"error\": \"x\"}]}");

    run("task get 1");

    assertThat(terminal.out())
        .isEqualTo(
            """
            id        1
            due at    D
            payload   {"a":1}

            attempts
            ATTEMPT  ERROR
            1        x
            """);
  }

  @Test
  void attempts_are_one_line_each_with_their_failure() {
    String attempt =
        """
        {"attempt": 2, "by": "n", "startedAt": "S", "duration": "PT1S", "outcome": "DEAD", "status": 500,
         "error": {"kind": "status", "cause": "target_failed", "message": "m", "status": 500},
         "request": {"method": "POST"}}
        """;
    api.responding(200, "{\"items\": [" + attempt + "], \"nextCursor\": \"c\"}");
    run("task attempts 1");
    assertThat(terminal.out())
        .isEqualTo(
            """
            ATTEMPT  BY  STARTED AT  DURATION  OUTCOME  STATUS  FAILURE  CAUSE          ERROR
            2        n   S           1s        DEAD     500     status   target_failed  m
            next page: --cursor c
            """);
  }

  @Test
  void a_task_shows_the_cause_of_each_failure() {
    api.responding(
        200,
        "{\"id\": \"1\", \"attempts\": [{\"attempt\": 1, \"request\": {\"method\": \"POST\"},"
            + " \"error\": {\"kind\": \"dns\", \"cause\": \"not_reached\", \"message\": \"m\","
            + " \"status\": null}}]}");

    run("task get 1");
    assertThat(terminal.out())
        .contains("ATTEMPT  FAILURE  CAUSE        ERROR\n1        dns      not_reached  m\n")
        .doesNotContain("method");
  }

  @Test
  void json_is_printed_unchanged() {
    api.responding(200, "{\"id\":\"1\",\"x\":null}");

    run("task get 1 --json");

    assertThat(terminal.out()).isEqualTo("{\"id\":\"1\",\"x\":null}\n");
  }

  @Test
  void an_empty_response_prints_done() {
    api.responding(204, "");

    run("type delete t");
    run("type delete t --json");

    assertThat(terminal.out()).isEqualTo("done\n{}\n");
  }

  @Test
  void colours_need_a_terminal_and_can_be_turned_off() {
    api.responding(200, "{\"id\":\"1\",\"status\":\"DEAD\"}");

    run("task get 1");
    terminal.isTerminal = true;
    terminal.environment.put("NO_COLOR", "1");
    run("task get 1");
    assertThat(terminal.out()).doesNotContain("\033");

    terminal.environment.remove("NO_COLOR");
    run("task get 1");
    assertThat(terminal.out()).contains("\033[31mDEAD\033[0m");
  }

  @Test
  void a_redrive_is_followed_until_it_finishes() {
    String redrive =
        "{\"id\":\"7\",\"status\":\"%s\",\"matched\":400,\"redriven\":%d,\"waiting\":2}";
    api.responding(202, redrive.formatted("RUNNING", 0))
        .responding(200, redrive.formatted("RUNNING", 100))
        .responding(200, redrive.formatted("DONE", 400));

    assertThat(run("dead-letter redrive --type t --rate 9 --watch --interval 1ms --json")).isZero();

    assertThat(terminal.out())
        .as("only the response")
        .isEqualTo(redrive.formatted("DONE", 400) + "\n");
    assertThat(terminal.err())
        .isEqualTo(
            """
            RUNNING 0%: 0 of 400 redriven, 2 waiting, 0 undone
            RUNNING 25%: 100 of 400 redriven, 2 waiting, 0 undone
            DONE 100%: 400 of 400 redriven, 2 waiting, 0 undone
            """);
    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsExactly(
            "POST /v1/dead-letters/redrive", "GET /v1/redrives/7", "GET /v1/redrives/7");
  }

  @Test
  void a_terminal_shows_a_progress_bar() {
    terminal.isTerminal = true;
    api.responding(200, "{\"id\":\"7\",\"status\":\"RUNNING\",\"matched\":4,\"redriven\":2}")
        .responding(200, "{\"id\":\"7\",\"status\":\"STOPPED\",\"matched\":4,\"redriven\":2}");

    assertThat(run("redrive get 7 --watch --interval 1ms")).isZero();

    assertThat(terminal.err())
        .contains("RUNNING [" + "#".repeat(15) + ".".repeat(15) + "] 50%")
        .contains("\r\033[KSTOPPED [");
  }

  @Test
  void a_purge_repeats_until_nothing_is_left_and_adds_up_the_counts() {
    api.responding(200, "{\"matched\":25,\"purged\":10,\"more\":true}")
        .responding(200, "{\"matched\":15,\"purged\":10,\"more\":true}")
        .responding(200, "{\"matched\":5,\"purged\":5}");

    assertThat(run("dead-letter purge --type t --json")).isZero();

    assertThat(terminal.out()).isEqualTo("{\"matched\":25,\"purged\":25}\n");
    assertThat(terminal.err()).isEqualTo("purged 10 of 25\npurged 20 of 25\n");
    assertThat(api.requests())
        .hasSize(3)
        .extracting(FakeApi.Request::body)
        .containsOnly("{\"type\":\"t\"}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "dead-letter purge --type t",
        "type delete t",
        "key revoke 7",
        "schedule delete n",
      })
  void a_terminal_asks_before_deleting(String line) {
    api.responding(200, "{}");
    terminal.isTerminal = true;

    terminal.input = "n\n";
    assertThat(run(line)).isEqualTo(2);
    assertThat(terminal.err())
        .contains("? [y/N] ")
        .endsWith("carillon: cancelled; nothing was changed\n");
    terminal.input = "";
    assertThat(run(line)).isEqualTo(2);
    assertThat(api.requests()).isEmpty();

    terminal.input = "y\n";
    assertThat(run(line)).isZero();
    assertThat(run(line + " --yes")).isZero();
    assertThat(api.requests()).hasSize(2);
  }

  @Test
  void a_purge_without_progress_stops_and_reports_more() {
    api.responding(200, "{\"matched\":9,\"purged\":9,\"more\":true}")
        .responding(200, "{\"matched\":1,\"atLeast\":true,\"purged\":0,\"more\":true}");

    assertThat(run("dead-letter purge --error x --json")).isZero();

    assertThat(terminal.out())
        .isEqualTo("{\"matched\":10,\"atLeast\":true,\"purged\":9,\"more\":true}\n");
  }

  @Test
  void top_computes_the_metrics_of_one_node_from_two_scrapes() {
    api.responding(200, "carillon_claimer_claimed_total 100\ncarillon_backlog_due 7\n")
        .responding(200, "carillon_claimer_claimed_total 200\ncarillon_backlog_due 5\n");

    assertThat(run("top --metrics --once --interval 10ms")).as(terminal.err()).isZero();

    assertThat(terminal.out())
        .hasLineCount(1)
        .contains("backlog=5")
        .containsPattern("claimed/s=[1-9]");
    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsExactly("GET /metrics", "GET /metrics");
  }
}
