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

/** {@code carillon top} with scripted responses. */
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
  void the_page_is_printed_once_without_a_terminal() {
    api.responding(200, cluster(node("a-1", "ALIVE", 32, 100), node("b-2", "ALIVE", 32, 100)))
        .responding(200, cluster(node("a-1", "ALIVE", 48, 1600), node("b-2", "DRAINING", 16, 100)));

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
    assertThat(api.requests())
        .extracting(FakeApi.Request::line)
        .containsExactly("GET /v1/cluster", "GET /v1/cluster");
  }

  @Test
  void json_is_printed_unchanged() {
    api.responding(200, "{\"leader\":null,\"nodes\":[]}");

    assertThat(top("--json")).isEqualTo("{\"leader\":null,\"nodes\":[]}\n");
    assertThat(api.only().line()).isEqualTo("GET /v1/cluster");
  }

  @Test
  void missing_values_are_shown_as_such() {
    api.responding(200, "{\"leader\":null,\"nodes\":[],\"shards\":{\"unassigned\":64}}");

    assertThat(top("--once"))
        .contains("leader    none\n")
        .contains("nodes     0 alive\n")
        .contains("shards    -, 64 unassigned, never moved\n")
        .contains("standbys  none\n");
  }

  @Test
  void stopped_nodes_are_counted_and_silent_nodes_are_shown() {
    api.responding(200, cluster(node("a-1", "SILENT", 0, 100), node("gone", "LEFT", 0, 100)));

    assertThat(top())
        .contains("nodes     0 alive, 1 not responding, 1 stopped\n")
        .contains("* a-1   NOT RESPONDING")
        .doesNotContain("gone");
  }

  @Test
  void node_names_cannot_control_the_terminal() {
    terminal.isTerminal = true;
    terminal.environment.put("NO_COLOR", "1");
    api.responding(200, cluster(node("\\u001b[2Jx\\u202e\\r\\n", "ALIVE", 1, 100)));

    assertThat(top("--once"))
        .contains("\\u001b[2Jx\\u202e\\r\\n")
        .doesNotContain("\033", "\r", "\u202e");
  }

  @Test
  void colours_need_a_terminal_and_can_be_turned_off() {
    api.responding(200, cluster(node("a-1", "SILENT", 1, 100)));

    assertThat(top("--once")).doesNotContain("\033");
    terminal.isTerminal = true;
    assertThat(top("--once")).contains("\033[31mNOT RESPONDING\033[0m");
    terminal.environment.put("NO_COLOR", "1");
    assertThat(top("--once")).doesNotContain("\033");
  }

  @Test
  void a_terminal_is_refreshed_until_q_is_pressed() {
    terminal.isTerminal = true;
    terminal.input = "xq";
    api.responding(200, cluster(node("a-1", "ALIVE", 1, 100)));

    assertThat(top()).startsWith("\033[2J\033[H").contains("a-1").endsWith("\033[K\n\033[J");
    assertThat(api.requests()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(ints = {120, 100, 80, 60, 40, 20, 12, 1})
  void narrow_terminals_drop_the_least_important_columns(int columns) {
    terminal.isTerminal = true;
    terminal.environment.putAll(Map.of("NO_COLOR", "1", "COLUMNS", "" + columns, "LINES", "40"));
    terminal.input = "q";
    api.responding(200, cluster(node("a-rather-long-name-1", "ALIVE", 64, 100)));

    List<String> lines =
        top().lines().map(line -> line.replaceAll("\033\\[[0-9]*[A-Z]", "")).toList();

    assertThat(lines).allMatch(line -> line.length() <= columns);
    assertThat(String.join("\n", lines).contains("ADDRESS")).isFalse();
    assertThat(String.join("\n", lines).contains("CLAIMED/S")).isEqualTo(columns >= 60);
    assertThat(String.join("\n", lines).contains("a-rather-")).isEqualTo(columns >= 12);
  }

  @Test
  void short_terminals_count_the_nodes_that_are_not_shown() {
    terminal.isTerminal = true;
    terminal.environment.putAll(Map.of("NO_COLOR", "1", "LINES", "14"));
    terminal.input = "q";
    api.responding(
        200,
        cluster(
            node("a-1", "ALIVE", 1, 100),
            node("b-2", "ALIVE", 1, 100),
            node("c-3", "ALIVE", 1, 100),
            node("d-4", "ALIVE", 1, 100)));

    assertThat(top()).contains("b-2", "and 2 more").doesNotContain("c-3").hasLineCount(14);
  }

  @Test
  void an_unavailable_server_is_retried_and_a_rejection_is_not() {
    terminal.isTerminal = true;
    api.responding(200, cluster(node("a-1", "ALIVE", 1, 100)))
        .responding(503, "{\"status\":503,\"code\":\"unavailable\",\"detail\":\"draining\"}")
        .responding(403, "{\"status\":403,\"code\":\"missing_scope\",\"detail\":\"no\"}");

    assertThat(terminal.run("top", "--interval", "1ms")).isEqualTo(2);

    assertThat(terminal.out()).containsPattern("stale: .*draining");
    assertThat(api.requests()).hasSize(3);
  }

  @Test
  void a_rejection_is_reported_in_one_line() {
    api.responding(
        403,
        "{\"title\":\"Forbidden\",\"status\":403,\"code\":\"missing_scope\",\"detail\":\"no\"}");

    assertThat(terminal.run("top", "--once")).isEqualTo(2);
    assertThat(terminal.err()).startsWith("carillon: ").hasLineCount(1);
    assertThat(terminal.out()).isEmpty();
  }
}
