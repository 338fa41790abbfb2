package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which ports a node opens, who may read from them, and that no task can reach them. */
class OpenPortsTest {

  private static final String METRICS_KEY = "scrape-0123456789-0123456789-0123456789";
  private static final Pattern METRICS = Pattern.compile("Metrics\\s+(http\\S+)/metrics\\s");

  @RegisterExtension static final Servers servers = new Servers();

  private static final HttpClient http = HttpClient.newHttpClient();
  private static final Db.Address database = Postgres.freshDatabase();
  private static ServerProcess server;
  private static String metricsUrl;

  @BeforeAll
  static void start() throws IOException {
    Path dataDir = servers.newDataDir();
    Path home = Files.createDirectories(dataDir.resolveSibling("home"));
    Files.writeString(
        home.resolve("carillon.yaml"),
        "bind: 0.0.0.0\nmetrics-port: 0\nallow-targets: [127.0.0.0/8]\n");
    Files.writeString(home.resolve("metrics-key"), METRICS_KEY + "\n");
    server =
        servers.start(
            dataDir, "--database-url", Servers.url(database), "--metrics-key-file", "metrics-key");
    Matcher found = METRICS.matcher(server.output());
    assertThat(found.find()).as(server.output()).isTrue();
    metricsUrl = found.group(1);
  }

  @Test
  void plain_http_beyond_loopback_is_logged_with_the_configuration_file() {
    assertThat(server.errors())
        .containsPattern("WARN .*plain HTTP is open to the network bind=0\\.0\\.0\\.0 port=")
        .containsPattern("INFO .*read configuration file path=/.*/home/carillon\\.yaml")
        .doesNotContain(METRICS_KEY);
    try (Carillon api = server.connect()) {
      assertThat(api.get("/v1/cluster").path("listener").toString())
          .isEqualTo("{\"bind\":\"0.0.0.0\",\"tls\":false,\"beyondLoopback\":true}");
    }
  }

  @Test
  void only_the_metrics_key_and_admin_keys_can_read_metrics() throws Exception {
    String viewer;
    try (Carillon api = server.connect()) {
      viewer = api.post("/v1/keys", Map.of("name", "v", "role", "viewer")).path("key").asString();
    }
    for (String base : List.of(server.url().toString(), metricsUrl)) {
      assertThat(get(base + "/metrics", null).statusCode()).as(base).isEqualTo(401);
      assertThat(get(base + "/metrics", "wrong").statusCode()).as(base).isEqualTo(401);
      assertThat(get(base + "/metrics", viewer).statusCode()).as(base).isEqualTo(403);
      assertThat(get(base + "/metrics", METRICS_KEY).body()).as(base).contains("carillon_seats");
      assertThat(get(base + "/metrics", server.adminKey()).statusCode()).as(base).isEqualTo(200);
      assertThat(get(base + "/health/live", null).statusCode()).as(base).isEqualTo(200);
      assertThat(get(base + "/health/ready", null).statusCode()).as(base).isEqualTo(200);
    }
    // The metrics key opens nothing else, and the metrics port serves nothing else.
    assertThat(get(server.url() + "/v1/tasks", METRICS_KEY).statusCode()).isEqualTo(401);
    assertThat(get(metricsUrl + "/v1/tasks", server.adminKey()).statusCode()).isEqualTo(404);
    assertThat(get(metricsUrl + "/", null).statusCode()).isEqualTo(404);
  }

  @Test
  void metrics_without_a_key_are_open_on_their_own_port_only() throws Exception {
    ServerProcess other =
        servers.start(
            servers.newDataDir(), "--database-url", Servers.url(database), "--metrics-port", "0");
    Matcher found = METRICS.matcher(other.output());
    assertThat(found.find()).as(other.output()).isTrue();

    assertThat(get(found.group(1) + "/metrics", null).statusCode()).isEqualTo(200);
    assertThat(get(other.url() + "/metrics", null).statusCode()).isEqualTo(401);
    assertThat(get(other.url() + "/metrics", other.adminKey()).statusCode()).isEqualTo(200);
  }

  @Test
  void an_address_cannot_open_more_connections_than_configured() throws Exception {
    ServerProcess other =
        servers.start(
            servers.newDataDir(),
            "--database-url",
            Servers.url(database),
            "--max-connections-per-address",
            "2");
    HttpRequest watch =
        HttpRequest.newBuilder(other.url().resolve("/v1/events"))
            .header("Authorization", "Bearer " + other.adminKey())
            .build();
    try (InputStream first = stream(watch);
        InputStream second = stream(watch)) {
      assertThat(List.of(first, second)).doesNotContainNull();

      HttpResponse<String> third = get(other.url() + "/v1/me", other.adminKey());

      assertThat(third.statusCode()).as(third.body()).isEqualTo(503);
      assertThat(third.body()).contains("too many connections");
    }
  }

  private static InputStream stream(HttpRequest request) throws Exception {
    HttpResponse<InputStream> response =
        http.send(request, HttpResponse.BodyHandlers.ofInputStream());
    assertThat(response.statusCode()).isEqualTo(200);
    return response.body();
  }

  @ParameterizedTest
  @ValueSource(strings = {"127.0.0.1", "localhost", "127.8.8.8", "[::ffff:127.0.0.1]"})
  void a_task_cannot_target_the_node_or_its_database(String host) {
    List<Integer> ports =
        List.of(
            server.url().getPort(),
            URI.create(metricsUrl).getPort(),
            URI.create(database.url().substring("jdbc:".length())).getPort());
    try (Carillon api = server.connect()) {
      for (int port : ports) {
        Map<String, ?> target =
            Map.of("http", Map.of("url", "http://" + host + ":" + port + "/metrics"));
        assertThatThrownBy(() -> api.post("/v1/tasks", Map.of("type", "ssrf", "target", target)))
            .isInstanceOf(CarillonException.class)
            .hasMessageContaining("of this machine is not allowed");
      }
    }
  }

  @Test
  void every_metric_has_a_legal_name_a_type_and_a_help_text() throws Exception {
    get(server.url() + "/v1/nothing", null); // creates the metrics of failed requests
    String text = get(metricsUrl + "/metrics", METRICS_KEY).body();

    assertThat(problemsIn(text)).isEmpty();
    Path promtool = Path.of("/usr/bin/promtool");
    if (Files.isExecutable(promtool)) {
      assertThat(check(promtool, text)).isEmpty();
    }
  }

  /** Checks names, help texts and types like promtool, for machines without it. */
  private static List<String> problemsIn(String text) {
    List<String> problems = new ArrayList<>();
    Map<String, String> help = new HashMap<>();
    Map<String, String> types = new HashMap<>();
    Set<String> sampled = new HashSet<>();
    for (String line : text.split("\n", -1)) {
      String[] words = line.split(" ", 4);
      if (line.startsWith("# HELP ")) {
        help.put(words[2], words.length > 3 ? words[3].strip() : "");
      } else if (line.startsWith("# TYPE ")) {
        types.put(words[2], words[3]);
      } else if (!line.isBlank()) {
        sampled.add(line.split("[ {]", 2)[0]);
      }
    }
    assertThat(types).as("metrics").hasSizeGreaterThan(35);
    types.forEach(
        (name, type) -> {
          if (help.getOrDefault(name, "").isEmpty()) {
            problems.add(name + " has no help text");
          }
          if (!name.matches("carillon_[a-z][a-z0-9_]*[a-z0-9]") || name.contains("__")) {
            problems.add(name + " is not a valid name for a Carillon metric");
          }
          if (type.equals("counter") != name.endsWith("_total")) {
            problems.add(name + " is a " + type);
          }
        });
    for (String name : sampled) {
      boolean isTyped =
          types.containsKey(name)
              || types.containsKey(name.replaceFirst("_(bucket|count|sum|max)$", ""));
      if (!isTyped) {
        problems.add(name + " has no type");
      }
    }
    return problems;
  }

  private static String check(Path promtool, String text) throws Exception {
    Process process =
        new ProcessBuilder(promtool.toString(), "check", "metrics")
            .redirectErrorStream(true)
            .start();
    try (var in = process.getOutputStream()) {
      in.write(text.getBytes(StandardCharsets.UTF_8));
    }
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    return output + (process.exitValue() == 0 ? "" : "status " + process.exitValue());
  }

  private static HttpResponse<String> get(String url, @Nullable String key) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
    if (key != null) {
      request.header("Authorization", "Bearer " + key);
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }
}
