package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code carillon schedule apply} with scripted responses. */
class ApplyCommandTest {

  private static final String NONE = "{\"detail\": \"schedule not found\"}";
  private static final String STALE = "{\"detail\": \"has another version\"}";
  private static final String TWO =
      """
      schedules:
        - {name: a, every: 1m, type: t}
        - name: b
          cron: "@hourly"
          type: t
      """;

  @TempDir Path directory;

  private FakeApi api;
  private Terminal terminal;

  @BeforeEach
  void start() throws IOException {
    api = new FakeApi();
    terminal = new Terminal(directory, api.url(), "k");
    Files.writeString(directory.resolve("f.yaml"), TWO);
  }

  @AfterEach
  void stop() {
    api.close();
  }

  private static String present(String fields) {
    return "{\"type\":\"t\",\"timezone\":\"UTC\",\"version\":3," + fields + "}";
  }

  private int apply(String... more) {
    String[] args = new String[more.length + 4];
    System.arraycopy(new String[] {"schedule", "apply", "-f", "f.yaml"}, 0, args, 0, 4);
    System.arraycopy(more, 0, args, 4, more.length);
    return terminal.run(args);
  }

  @Test
  void a_schedule_is_compared_checked_and_saved_with_its_version() {
    api.responding(404, NONE)
        .responding(200, present("\"cron\":\"@daily\""))
        .responding(412, STALE)
        .responding(412, STALE)
        .responding(201, "{\"version\": 1}")
        .responding(200, "{\"version\": 4}");

    assertThat(apply()).as(terminal.err()).isZero();

    assertThat(api.requests())
        .extracting(request -> request.line() + " " + request.ifMatch())
        .containsExactly(
            "GET /v1/schedules/a null",
            "GET /v1/schedules/b null",
            "PUT /v1/schedules/a \"0\"",
            "PUT /v1/schedules/b \"0\"",
            "PUT /v1/schedules/a null",
            "PUT /v1/schedules/b \"3\"");
    assertThat(terminal.out())
        .isEqualTo(
            """
            + a  created
            ~ b  changed: cron "@daily" → "@hourly"
            1 created, 1 changed, 0 unchanged, 0 removed
            """);
  }

  @Test
  void the_server_decides_what_is_a_change() {
    api.responding(200, present("\"every\":\"PT1M\""))
        .responding(200, present("\"cron\":\"0 * * * *\""))
        .responding(412, STALE)
        .responding(200, "{\"version\": 3}");

    assertThat(apply()).as(terminal.err()).isZero();

    assertThat(terminal.out()).contains("= b  unchanged\n0 created, 0 changed, 2 unchanged");
  }

  @Test
  void a_failure_lists_the_applied_and_the_remaining_steps() {
    api.responding(404, NONE)
        .responding(404, NONE)
        .responding(404, NONE)
        .responding(404, NONE)
        .responding(201, "{\"version\": 1}")
        .responding(503, "{\"detail\": \"not now\"}");

    assertThat(apply()).isEqualTo(2);

    assertThat(terminal.err())
        .isEqualTo("carillon: b: not now; done: a; not done: b; run it again to continue\n");
    assertThat(terminal.out()).isEmpty();
  }

  @Test
  void a_rejected_schedule_is_reported_by_line_before_any_change() {
    api.responding(404, NONE)
        .responding(404, NONE)
        .responding(
            422,
            "{\"detail\": \"x\", \"errors\": [{\"pointer\": \"/every\", \"message\": \"is"
                + " bad\"}]}")
        .responding(
            422,
            "{\"detail\": \"x\", \"errors\": [{\"pointer\": \"/cron\", \"message\": \"is"
                + " worse\"}]}");

    assertThat(apply()).isEqualTo(2);

    assertThat(terminal.err())
        .isEqualTo("carillon: f.yaml: line 2: a: /every is bad; also rejected: b\n");
    assertThat(api.requests()).hasSize(4).noneMatch(request -> "null".equals(request.ifMatch()));
  }

  @Test
  void a_missing_permission_is_reported_once() {
    api.responding(404, NONE).responding(404, NONE).responding(403, "{\"detail\": \"no\"}");

    assertThat(apply("--dry-run")).isEqualTo(2);

    assertThat(terminal.err()).isEqualTo("carillon: no\n");
  }

  @Test
  void a_duplicate_name_is_rejected_in_one_file_and_across_two() throws IOException {
    Files.writeString(directory.resolve("g.yaml"), "schedules: [{name: b, every: 1s, type: t}]");
    assertThat(apply("-f", "g.yaml")).isEqualTo(2);
    assertThat(terminal.err())
        .isEqualTo("carillon: g.yaml: line 1: b: is a duplicate of line 3 of f.yaml\n");

    Files.writeString(directory.resolve("f.yaml"), TWO + TWO.replace("schedules:\n", ""));
    assertThat(apply()).isEqualTo(2);
    assertThat(terminal.err())
        .isEqualTo("carillon: f.yaml: line 6: a: is a duplicate of line 2 of f.yaml\n");

    assertThat(api.requests()).isEmpty();
  }

  @Test
  void an_empty_file_prunes_nothing_without_allow_empty() throws IOException {
    Files.writeString(directory.resolve("f.yaml"), "schedules: []");
    api.responding(200, "{\"items\": [{\"name\": \"x\", \"version\": 3}], \"nextCursor\": \"c\"}")
        .responding(200, "{\"items\": [{\"name\": \"y\", \"version\": 1}]}")
        .responding(204, "")
        .responding(404, NONE);

    assertThat(apply("--prune")).isEqualTo(2);
    assertThat(terminal.err())
        .isEqualTo(
            "carillon: f.yaml: has no schedules, so --prune would delete all of them; add"
                + " --allow-empty to allow it\n");
    assertThat(api.requests()).isEmpty();

    assertThat(apply("--prune", "--allow-empty")).isZero();
    assertThat(terminal.out())
        .isEqualTo(
            """
            - x  removed
            - y  removed
            0 created, 0 changed, 0 unchanged, 2 removed
            """);
    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsExactly(
            "GET /v1/schedules?limit=1000",
            "GET /v1/schedules?limit=1000&cursor=c",
            "DELETE /v1/schedules/x",
            "DELETE /v1/schedules/y");
    assertThat(api.requests())
        .extracting(FakeApi.Request::ifMatch)
        .containsExactly(null, null, "\"3\"", "\"1\"");
  }

  @Test
  void a_schedule_changed_since_it_was_listed_is_not_pruned() throws IOException {
    Files.writeString(directory.resolve("f.yaml"), "schedules: []");
    api.responding(200, "{\"items\": [{\"name\": \"x\", \"version\": 3}]}").responding(412, STALE);

    assertThat(apply("--prune", "--allow-empty")).isEqualTo(2);

    assertThat(terminal.err()).contains("; done: nothing; not done: x; run it again to continue");
  }

  @Test
  void a_file_that_is_too_large_or_not_text_is_rejected() throws IOException {
    Files.writeString(directory.resolve("f.yaml"), "#".repeat(3 << 20));
    assertThat(apply()).isEqualTo(2);
    assertThat(terminal.err()).contains("f.yaml: has more than 2097152 bytes; split it");

    Files.write(directory.resolve("f.yaml"), new byte[] {'a', (byte) 0xff});
    assertThat(apply()).isEqualTo(2);
    assertThat(terminal.err()).isEqualTo("carillon: f.yaml: is not UTF-8 text\n");
  }

  @Test
  void json_has_the_steps_and_hides_header_values() throws IOException {
    Files.writeString(
        directory.resolve("f.yaml"),
        """
        schedules:
          - name: a
            every: 1m
            type: t
            target: {http: {url: "http://x", headers: {x-key: secret}}}
        """);
    api.responding(
            200,
            present(
                "\"every\":\"PT2M\",\"target\":{\"http\":{\"url\":\"http://x\",\"method\":\"POST\"}}"))
        .responding(412, STALE);

    assertThat(apply("--dry-run", "--json")).as(terminal.err()).isZero();

    assertThat(terminal.out())
        .isEqualTo(
            "{\"dryRun\":true,\"created\":0,\"changed\":1,\"unchanged\":0,\"removed\":0,"
                + "\"schedules\":[{\"name\":\"a\",\"change\":\"changed\",\"fields\":["
                + "{\"field\":\"every\",\"from\":\"PT2M\",\"to\":\"PT1M\"},"
                + "{\"field\":\"target.http.headers\",\"hidden\":true}]}]}\n");
  }
}
