package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.app.config.Config;
import carillon.app.config.ConfigLoader;
import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Runs the commands of the README and of the tour in a shell, exactly as written. */
@Tag("slow")
class ReadmeTest {

  private static final Path README = Path.of("../README.md");
  private static final Path TOUR = Path.of("../docs/tour.md");
  private static final Pattern QUICK_START = Pattern.compile("(?ms)^## Quick start.*?(?=^## )");
  private static final Pattern COMMANDS = Pattern.compile("(?ms)^```sh\n(.*?)^```$");

  @TempDir Path directory;

  @Test
  void the_tour_works_as_typed() throws Exception {
    try (Running node = Wiring.start(config())) {
      String output = run(commands(Files.readString(TOUR)), node);

      String key = Files.readString(directory.resolve("data/admin-key")).strip();
      try (Carillon carillon = Carillon.connect(node.url(), key)) {
        assertThat(
                carillon
                    .get("/v1/tasks")
                    .get("items")
                    .valueStream()
                    .collect(
                        Collectors.toMap(task -> text(task, "type"), task -> text(task, "status"))))
            .as(output)
            .containsExactlyInAnyOrderEntriesOf(
                Map.of(
                    "hello", "COMPLETED",
                    "report", "DEAD",
                    "reminder", "CANCELLED",
                    "resize", "COMPLETED",
                    "invoice", "COMPLETED",
                    "export", "COMPLETED",
                    "tick", "COMPLETED",
                    "carillon.callback", "COMPLETED"));
      }
      assertThat(output)
          .contains("/hello attempt 1 {\"to\": \"you\"}\n")
          .contains("/broken attempt 3 \n")
          .contains("HTTP 503 from target")
          .contains("{\"cancelled\":1,")
          .contains("\"result\":\"accepted\"}", "\"result\":\"stale\"}")
          .contains("/invoice attempt 1 {\"number\": 1}\n")
          .contains("/exported attempt 1 {\"event\":\"task.completed\",")
          .contains("02:30 does not exist on this day")
          .contains("\"kind\": \"scheduled\"")
          .containsPattern("ALIVE +api,engine ");
    }
  }

  private Config config() {
    Db.Address database = Postgres.freshDatabase();
    String url =
        "%s?user=%s&password=%s".formatted(database.url(), database.user(), database.password());
    return new ConfigLoader(Map.of(), directory)
        .load(Map.of("port", "0", "database-url", url, "allow-targets", "127.0.0.0/8"));
  }

  @Test
  void the_quick_start_works_as_typed() throws Exception {
    String document = Files.readString(README);
    String section = QUICK_START.matcher(document).results().findFirst().orElseThrow().group();
    try (Running node = Wiring.start(config())) {
      // The test has already started a node, on another port.
      String commands =
          commands(section)
              .replaceAll("(?m)^make run .*$", "")
              .replace("http://127.0.0.1:8080", node.url().toString())
              .replace("9000", String.valueOf(freePort()));
      String output = run(commands, node);

      String key = Files.readString(directory.resolve("data/admin-key")).strip();
      try (Carillon carillon = Carillon.connect(node.url(), key)) {
        assertThat(carillon.get("/v1/tasks?key=order-42").get("items").size())
            .as(output)
            .isEqualTo(1);
        assertThat(text(carillon.get("/v1/tasks?key=order-43").get("items").get(0), "status"))
            .isEqualTo("CANCELLED");
        assertThat(text(carillon.get("/v1/schedules/standup"), "timezone"))
            .isEqualTo("Europe/Berlin");
      }
      assertThat(output).contains("{\"cancelled\":1,").contains("At 09:00");
    }
  }

  private static String commands(String document) {
    return COMMANDS
        .matcher(document)
        .results()
        .map(block -> block.group(1))
        .collect(Collectors.joining());
  }

  /** Runs the commands in a directory with a stand-in for ./carillon, and returns their output. */
  private String run(String commands, Running node) throws IOException, InterruptedException {
    Path program = Files.writeString(directory.resolve("carillon"), program());
    Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
    Path script = Files.writeString(directory.resolve("tour.sh"), commands);
    Path output = directory.resolve("output");
    ProcessBuilder bash =
        new ProcessBuilder("bash", "-euo", "pipefail", script.toString())
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    bash.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
    bash.environment().put("CARILLON_URL", node.url().toString());
    bash.environment().put("RECEIVER_PORT", String.valueOf(freePort()));
    Process shell = bash.start();
    try {
      boolean ended = shell.waitFor(60, TimeUnit.SECONDS);
      assertThat(ended && shell.exitValue() == 0).as(Files.readString(output)).isTrue();
    } finally {
      shell.descendants().forEach(ProcessHandle::destroy);
      shell.destroyForcibly();
    }
    return Files.readString(output);
  }

  /** A stand-in for ./carillon, which would first check whether the program has to be built. */
  private static String program() {
    return """
    #!/bin/sh
    exec '%s' -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '%s' carillon.app.Main "$@"
    """
        .formatted(
            ProcessHandle.current().info().command().orElseThrow(),
            System.getProperty("java.class.path"));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static String text(JsonNode task, String field) {
    return task.get(field).asString();
  }
}
