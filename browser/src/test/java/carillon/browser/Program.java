package carillon.browser;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The built program in its own process, with an embedded database. */
final class Program implements AutoCloseable {

  private static final Pattern DASHBOARD = Pattern.compile("Dashboard\\s+(http\\S+?)/?\\s");

  private final Process process;
  private final Path directory;

  /** Starts the program and returns when it is ready. */
  Program(Path directory) throws IOException {
    this.directory = directory;
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx384m",
            "-jar",
            Path.of("../server/target/carillon-server.jar").toAbsolutePath().toString(),
            "server",
            "--port",
            "0",
            "--node-id",
            "tower",
            "--log-level", // to analyse failures, such as why a stream ended
            "debug",
            "--data-dir",
            directory.resolve("data").toString());
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectOutput(directory.resolve("out").toFile())
            .redirectError(directory.resolve("err").toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
    this.process = builder.start();
    await("a server that is ready")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> dashboard().find() || !process.isAlive());
    if (!process.isAlive()) {
      throw new AssertionError(read("err"));
    }
  }

  String url() {
    Matcher dashboard = dashboard();
    if (!dashboard.find()) {
      throw new IllegalStateException("not ready");
    }
    return dashboard.group(1);
  }

  String adminKey() {
    return read("data/admin-key").strip();
  }

  private Matcher dashboard() {
    return DASHBOARD.matcher(read("out"));
  }

  private String read(String file) {
    try {
      return Files.readString(directory.resolve(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(40, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
