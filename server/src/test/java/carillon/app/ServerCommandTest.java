package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.app.config.Config;
import carillon.cli.CommandFailed;
import carillon.cli.Console;
import carillon.model.KeyText;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("slow")
class ServerCommandTest {

  @TempDir Path directory;

  /** The server command with a node that does nothing. */
  static final class FakeNode implements Running {
    public static void main(String[] args) {
      System.exit(ServerCommand.of(Console.system(), FakeNode::start).execute(args));
    }

    private static Running start(Config config) {
      switch (config.node().id()) {
        case "fails" -> throw new CommandFailed("cannot be");
        case "slow" -> {
          var never = new CountDownLatch(1);
          Runtime.getRuntime().addShutdownHook(new Thread(never::countDown));
          System.out.println("starting"); // a signal may arrive from here on
          awaitUninterruptibly(never);
        }
        default -> {}
      }
      LoggerFactory.getLogger("carillon.test").info("one\ntwo");
      LoggerFactory.getLogger("carillon.test")
          .warn("trouble", new IllegalStateException("three\nfour"));
      LoggerFactory.getLogger("library").info("chatter");
      java.util.logging.Logger.getLogger("old.library").warning("old style");
      return new FakeNode();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
      try {
        latch.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public URI url() {
      return URI.create("http://127.0.0.1:1234");
    }

    @Override
    public void close() {
      System.out.println("closed");
    }
  }

  private ChildProcess start(String... arguments) throws IOException {
    return ChildProcess.start(FakeNode.class, directory, arguments);
  }

  private List<String> errors() throws IOException {
    return Files.readAllLines(directory.resolve("stderr"));
  }

  @Test
  void a_node_without_the_api_role_prints_no_links_to_the_api() throws Exception {
    try (ChildProcess server = start("--roles", "engine")) {
      server.awaitLine("role api");
      server.terminate();

      assertThat(server.status()).isZero();
      assertThat(server.output())
          .contains("Address    http://127.0.0.1:1234/\n")
          .doesNotContain("Dashboard", "curl", "Admin key");
    }
  }

  @Test
  void the_first_start_prints_a_guide_and_sigterm_stops_it_cleanly() throws Exception {
    try (ChildProcess server = start()) {
      server.awaitLine("curl");
      server.terminate();

      assertThat(server.status()).isZero();
      String key = Files.readString(directory.resolve("data/admin-key")).strip();
      assertThat(KeyText.parse(key)).isPresent();
      assertThat(server.output())
          .startsWith("\nCarillon ")
          .contains("Dashboard  http://127.0.0.1:1234/\n")
          .contains("API docs   http://127.0.0.1:1234/docs\n")
          .contains("Admin key  " + key + "  (new; stored in data/admin-key)")
          .contains("$(cat 'data/admin-key')")
          .endsWith("closed\n");
      assertThat(errors()).as("log").allMatch(line -> !line.contains(key));
    }
    try (ChildProcess again = start()) {
      again.awaitLine("curl");
      again.terminate();

      assertThat(again.status()).isZero();
      assertThat(again.output()).contains("Admin key  in data/admin-key\n");
    }
  }

  @Test
  void a_signal_during_the_start_stops_the_node_cleanly_afterwards() throws Exception {
    try (ChildProcess server = start("--node-id", "slow")) {
      server.awaitLine("starting");
      server.terminate();

      assertThat(server.status()).isZero();
      assertThat(server.output()).endsWith("closed\n");
    }
  }

  @Test
  void a_failed_start_exits_with_an_error_status() throws Exception {
    try (ChildProcess server = start("--node-id", "fails")) {
      assertThat(server.status()).isNotZero();
      assertThat(server.output()).isEmpty();
      assertThat(errors()).noneMatch(line -> line.contains("stopping"));
    }
  }

  @Test
  void text_logs_print_one_line_per_event() throws Exception {
    try (ChildProcess server = start()) {
      server.awaitLine("curl");
      server.terminate();
      server.status();
    }

    assertThat(errors())
        .anyMatch(line -> line.endsWith("one\\ntwo"))
        .anyMatch(line -> line.equals("java.lang.IllegalStateException: three\\nfour"))
        .anyMatch(line -> line.contains("old style"))
        .noneMatch(line -> line.contains("chatter"));
    assertThat(errors().getFirst())
        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z INFO .*");
  }

  @Test
  void json_logs_are_json() throws Exception {
    try (ChildProcess server = start("--log-format", "json")) {
      server.awaitLine("curl");
      server.terminate();
      server.status();
    }

    JsonMapper json = JsonMapper.builder().build();
    List<JsonNode> events = errors().stream().map(json::readTree).toList();
    assertThat(events)
        .extracting(event -> event.path("message").asString())
        .contains("one\ntwo", "trouble", "stopped");
  }
}
