package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Archives an expired dead letter and restores it from the file. */
class ArchiveTest {

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void an_archived_dead_letter_can_be_restored_from_the_command_line()
      throws IOException, InterruptedException {
    Db.Address database = Postgres.freshDatabase();
    ServerProcess first = servers.startOn(database);
    String id;
    JsonNode before;
    try (Receiver receiver = Receiver.start();
        Carillon api = first.connect()) {
      receiver.respondWith(_ -> 404);
      id = deadTask(api, receiver.url("/missing"));
      before = api.get("/v1/tasks/" + id);
    }
    new Database(database)
        .execute("UPDATE carillon.dead_letter SET kept_from = now() - interval '2 minutes'");
    first.stop(); // only the leader archives, and this one has no TTL

    ServerProcess second = servers.startOn(database, "--dead-letter-ttl", "1m");
    try (Carillon api = second.connect()) {
      await().atMost(Duration.ofSeconds(20)).until(() -> isGone(api, id));

      Path file = onlyFile(second.dataDir().resolve("archive"));
      assertThat(run(second, "dead-letter", "restore", file.toString()))
          .isEqualTo("restored  1\npresent   0\n");
      assertThat(api.get("/v1/tasks/" + id)).isEqualTo(before);
      assertThat(run(second, "dead-letter", "list", "--type", "t")).contains(id);
      assertThat(run(second, "dead-letter", "restore", file.toString()))
          .isEqualTo("restored  0\npresent   1\n");
      assertThat(second.metric("carillon_archived_tasks_total")).isEqualTo(1);
      assertThat(second.metric("carillon_archive_failures_total")).isZero();
    }
  }

  private static String deadTask(Carillon api, String url) {
    api.put("/v1/types/t", Map.of("retry", Map.of("maxAttempts", 1)));
    String id =
        api.post(
                "/v1/tasks",
                Map.of(
                    "type",
                    "t",
                    "key",
                    "order-42",
                    "payload",
                    Map.of("n", 1),
                    "target",
                    Map.of("http", Map.of("url", url))))
            .path("id")
            .asString();
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> api.get("/v1/tasks/" + id).path("status").asString().equals("DEAD"));
    return id;
  }

  private static boolean isGone(Carillon api, String id) {
    try {
      return api.get("/v1/tasks/" + id).isMissingNode();
    } catch (CarillonException e) {
      return e.status() == 404;
    }
  }

  private static Path onlyFile(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      List<Path> all = files.toList();
      assertThat(all).hasSize(1);
      return all.getFirst();
    }
  }

  private static String run(ServerProcess server, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElseThrow());
    command.addAll(
        List.of("-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
    command.add("carillon.app.Main");
    command.addAll(List.of(arguments));
    command.addAll(List.of("--url", server.url().toString()));
    command.addAll(List.of("--data-dir", server.dataDir().toString()));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
    Process process = builder.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    return output;
  }
}
