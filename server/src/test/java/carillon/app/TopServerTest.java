package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.app.config.ConfigLoader;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** {@code carillon top} with a real cluster of two nodes. */
@Tag("slow")
class TopServerTest {

  @TempDir Path directory;

  private Running start(Db.Address database, String name, String roles) {
    String url =
        "%s?user=%s&password=%s".formatted(database.url(), database.user(), database.password());
    Map<String, String> options =
        new HashMap<>(Map.of("port", "0", "database-url", url, "node-id", name, "roles", roles));
    return Wiring.start(new ConfigLoader(Map.of(), directory).load(options));
  }

  private static String top(Terminal terminal, String... options) {
    String[] args = new String[options.length + 3];
    System.arraycopy(new String[] {"top", "--interval", "200ms"}, 0, args, 0, 3);
    System.arraycopy(options, 0, args, 3, options.length);
    assertThat(terminal.run(args)).as(() -> terminal.err()).isZero();
    return terminal.out();
  }

  @Test
  void joining_and_leaving_nodes_are_shown() throws IOException {
    Db.Address database = Postgres.freshDatabase();
    try (Running first = start(database, "first", "api,engine")) {
      String key = Files.readString(directory.resolve("data/admin-key")).strip();
      Terminal terminal = new Terminal(directory, first.url().toString(), key);
      try (Running second = start(database, "second", "engine")) {
        Awaitility.await()
            .atMost(Duration.ofSeconds(20))
            .untilAsserted(
                () -> {
                  JsonNode cluster = new JsonMapper().readTree(top(terminal, "--json"));
                  assertThat(cluster.path("leader").path("term").asLong()).isPositive();
                  assertThat(cluster.path("nodes"))
                      .allMatch(node -> node.path("shards").size() == 32)
                      .hasSize(2);
                  assertThat(cluster.path("nodes").get(0).path("address").asString())
                      .isEqualTo(first.url().toString());
                });
        assertThat(second.url()).isNotEqualTo(first.url());

        assertThat(top(terminal))
            .contains("nodes     2 alive\n", "shards    64, 0 unassigned")
            .containsPattern("(?m)^\\* (first|second)-[0-9a-f]{8} +ALIVE ")
            .containsPattern("(?m)^[* ] second-[0-9a-f]{8} +ALIVE +engine ");
      }
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(
              () ->
                  assertThat(top(terminal, "--once"))
                      .contains("nodes     1 alive, 1 stopped\n", "shards    64, 0 unassigned")
                      .containsPattern("(?m)^\\* first-[0-9a-f]{8} +ALIVE .* 64 +#{16}"));
    }
  }
}
