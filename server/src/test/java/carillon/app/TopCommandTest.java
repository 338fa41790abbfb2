package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code carillon top} with a server that says what it is told to. */
class TopCommandTest {

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

  private static String cluster(String... nodes) {
    return """
    {"at":"2027-01-02T00:00:00.500Z",
     "leader":{"node":"a-1","term":7,"since":"2027-01-01T21:00:00.000Z","leaseUntil":"2027-01-02T00:00:05.000Z"},
     "nodes":[%s],
     "shards":{"total":64,"unassigned":0,"lastMovedAt":"2027-01-02T00:00:00.000Z"},
     "lag":"PT0.004S",
     "database":{"version":"18.6","timeline":2,"oldestTransaction":null,
       "standbys":[{"name":"s1","state":"streaming","sync":"sync","lag":"PT0S"}]}}
    """
        .formatted(String.join(",", nodes));
  }

  private static String node(String id, String status, int shards, int claimed) {
    String renewedAt = "2027-01-02T00:00:0%d.000Z".formatted(claimed > 100 ? 1 : 0);
    String ids = String.join(",", Collections.nCopies(shards, "1"));
    return """
    {"id":"%s","name":"n","roles":["api","engine"],"address":"http://10.0.0.1:8080","version":"1.2",
     "status":"%s","startedAt":"2027-01-01T00:00:00.000Z","renewedAt":"%s","leaseUntil":"2027-01-02T00:00:09.000Z",
     "clockOffset":%s,"inFlight":3,"seats":512,"lag":"PT0.004S","shards":[%s],"claimed":%d,"ended":%d}
    """
        .formatted(id, status, renewedAt, "\"-PT0.002S\"", ids, claimed, claimed);
  }

  private String top(String... options) {
    String[] args =
        Stream.concat(Stream.of("top", "--interval", "1ms"), Arrays.stream(options))
            .toArray(String[]::new);
    assertThat(terminal.run(args)).as(() -> terminal.err()).isZero();
    return terminal.out();
  }

  @Test
  void a_pipe_gets_the_whole_page_once() {
    api.answering(200, cluster(node("a-1", "ALIVE", 32, 100), node("b-2", "ALIVE", 32, 100)))
        .answering(200, cluster(node("a-1", "ALIVE", 48, 1600), node("b-2", "DRAINING", 16, 100)));

    assertThat(top().replace(api.url(), "URL"))
        .isEqualTo(
            """
            carillon top  URL

            leader    a-1, term 7, for 3h
            nodes     1 alive, 1 draining
            tasks     1,500 claimed/s, 1,500 finished/s, 6 of 1,024 in flight, lag 4ms
            shards    64, 0 unassigned, last rebalanced 0s ago
            database  PostgreSQL 18.6, timeline 2, oldest transaction -
            standbys  s1 streaming sync, 0ms behind

              NODE  STATUS    ROLES       IN FLIGHT  CLAIMED/S  FINISHED/S  LAG  CLOCK  HEARTBEAT   UP  SHARDS                    VERSION  ADDRESS
            * a-1   ALIVE     api,engine      3/512      1,500       1,500  4ms   -2ms         0s  24h      48  ################  1.2      http://10.0.0.1:8080
              b-2   DRAINING  api,engine      3/512          -           -  4ms   -2ms         0s  24h      16  ######            1.2      http://10.0.0.1:8080
            """);
    assertThat(api.asked())
        .extracting(FakeApi.Asked::line)
        .containsExactly("GET /v1/cluster", "GET /v1/cluster");
  }

  @Test
  void programs_get_the_answer_as_it_came() {
    api.answering(200, "{\"leader\":null,\"nodes\":[]}");

    assertThat(top("--json")).isEqualTo("{\"leader\":null,\"nodes\":[]}\n");
    assertThat(api.only().line()).isEqualTo("GET /v1/cluster");
  }

  @Test
  void a_cluster_of_which_little_is_known_is_shown_as_such() {
    api.answering(200, "{\"leader\":null,\"nodes\":[],\"shards\":{\"unassigned\":64}}");

    assertThat(top("--once"))
        .contains("leader    none\n")
        .contains("nodes     0 alive\n")
        .contains("shards    -, 64 unassigned, never moved\n")
        .contains("standbys  none\n");
  }

  @Test
  void those_that_left_are_only_counted_and_those_that_went_silent_shown() {
    api.answering(200, cluster(node("a-1", "SILENT", 0, 100), node("gone", "LEFT", 0, 100)));

    assertThat(top())
        .contains("nodes     0 alive, 1 not responding, 1 stopped\n")
        .contains("* a-1   NOT RESPONDING")
        .doesNotContain("gone");
  }

  @Test
  void what_nodes_call_themselves_cannot_steer_the_terminal() {
    terminal.isTerminal = true;
    terminal.environment.put("NO_COLOR", "1");
    api.answering(200, cluster(node("\\u001b[2Jx\\u202e\\r\\n", "ALIVE", 1, 100)));

    assertThat(top("--once"))
        .contains("\\u001b[2Jx\\u202e\\r\\n")
        .doesNotContain("\033", "\r", "\u202e");
  }

  @Test
  void colours_are_for_terminals_that_want_them() {
    api.answering(200, cluster(node("a-1", "SILENT", 1, 100)));

    assertThat(top("--once")).doesNotContain("\033");
    terminal.isTerminal = true;
    assertThat(top("--once")).contains("\033[31mNOT RESPONDING\033[0m");
    terminal.environment.put("NO_COLOR", "1");
    assertThat(top("--once")).doesNotContain("\033");
  }

  @Test
  void a_terminal_is_drawn_anew_until_q_is_pressed() {
    terminal.isTerminal = true;
    terminal.input = "xq";
    api.answering(200, cluster(node("a-1", "ALIVE", 1, 100)));

    assertThat(top()).startsWith("\033[2J\033[H").contains("a-1").endsWith("\033[K\n\033[J");
    assertThat(api.asked()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {120, 100, 80, 60, 40, 20, 12, 1})
  void narrow_terminals_lose_what_matters_least(int columns) {
    terminal.isTerminal = true;
    terminal.environment.putAll(Map.of("NO_COLOR", "1", "COLUMNS", "" + columns, "LINES", "40"));
    terminal.input = "q";
    api.answering(200, cluster(node("a-rather-long-name-1", "ALIVE", 64, 100)));

    List<String> lines =
        top().lines().map(line -> line.replaceAll("\033\\[[0-9]*[A-Z]", "")).toList();

    assertThat(lines).allMatch(line -> line.length() <= columns);
    assertThat(String.join("\n", lines).contains("ADDRESS")).isFalse();
    assertThat(String.join("\n", lines).contains("CLAIMED/S")).isEqualTo(columns >= 60);
    assertThat(String.join("\n", lines).contains("a-rather-")).isEqualTo(columns >= 12);
  }

  @Test
  void low_terminals_say_how_many_nodes_are_not_shown() {
    terminal.isTerminal = true;
    terminal.environment.putAll(Map.of("NO_COLOR", "1", "LINES", "14"));
    terminal.input = "q";
    api.answering(
        200,
        cluster(
            node("a-1", "ALIVE", 1, 100),
            node("b-2", "ALIVE", 1, 100),
            node("c-3", "ALIVE", 1, 100),
            node("d-4", "ALIVE", 1, 100)));

    assertThat(top()).contains("b-2", "and 2 more").doesNotContain("c-3").hasLineCount(14);
  }

  @Test
  void a_server_that_is_away_is_waited_for_and_one_that_refuses_is_not() {
    terminal.isTerminal = true;
    api.answering(200, cluster(node("a-1", "ALIVE", 1, 100)))
        .answering(503, "{\"status\":503,\"code\":\"unavailable\",\"detail\":\"draining\"}")
        .answering(403, "{\"status\":403,\"code\":\"missing_scope\",\"detail\":\"no\"}");

    assertThat(terminal.run("top", "--interval", "1ms")).isEqualTo(2);

    assertThat(terminal.out()).containsPattern("stale: .*draining");
    assertThat(api.asked()).hasSize(3);
  }

  @Test
  void who_may_not_look_is_told_so_in_one_line() {
    api.answering(
        403,
        "{\"title\":\"Forbidden\",\"status\":403,\"code\":\"missing_scope\",\"detail\":\"no\"}");

    assertThat(terminal.run("top", "--once")).isEqualTo(2);
    assertThat(terminal.err()).startsWith("carillon: ").hasLineCount(1);
    assertThat(terminal.out()).isEmpty();
  }
}
