package carillon.testkit;

import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A Carillon server in its own process, for tests of crashes, pauses and memory use. {@link
 * Servers} starts and ends it.
 */
public final class ServerProcess {

  /**
   * The JVM flags of the {@code carillon} script, plus {@code TieredStopAtLevel=1}: a short-lived
   * server ends before the optimizing compiler pays off. For measurements, set the property to
   * flags without it.
   */
  private static final List<String> FLAGS =
      List.of(
          System.getProperty(
                  "carillon.e2e.flags",
                  "-XX:+UseParallelGC -Xms128m -XX:MaxRAMPercentage=25 -XX:TieredStopAtLevel=1")
              .split(" ", -1));

  private static final Pattern DASHBOARD =
      Pattern.compile("(?:Dashboard|Address)\\s+(http\\S+?)/?\\s");
  private static final Duration START_TIMEOUT = Duration.ofSeconds(60);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(40);

  private final Process process;
  private final Path dataDir;
  private final Path output;
  private final Path errors;

  private ServerProcess(Process process, Path dataDir, Path output, Path errors) {
    this.process = process;
    this.dataDir = dataDir;
    this.output = output;
    this.errors = errors;
  }

  private static final Pattern SHIPPED_FLAGS =
      Pattern.compile("server \\]; then\\s+flags=\"(.+)\"");

  /**
   * The JVM flags that the {@code carillon} script passes to a server, including those for memory.
   */
  static List<String> shippedFlags() {
    Path script = Path.of("../carillon").toAbsolutePath().normalize();
    Matcher flags = SHIPPED_FLAGS.matcher(read(script));
    if (!flags.find()) {
      throw new AssertionError("no flags of the server in " + script);
    }
    List<String> all = new ArrayList<>(List.of(flags.group(1).split(" ", -1)));
    all.addAll(List.of("-XX:+ExitOnOutOfMemoryError", "-XX:TieredStopAtLevel=1"));
    return all;
  }

  /** Starts {@code carillon server} without waiting until it is ready. */
  static ServerProcess launch(Path dataDir, List<String> arguments) {
    return launch(FLAGS, dataDir, arguments);
  }

  static ServerProcess launch(List<String> flags, Path dataDir, List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(ProcessHandle.current().info().command().orElseThrow());
    command.addAll(flags);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), "carillon.app.Main", "server"));
    command.addAll(List.of("--data-dir", dataDir.toString()));
    command.addAll(arguments);
    if (!arguments.contains("--port")) {
      command.addAll(List.of("--port", "0"));
    }
    try {
      Path home = Files.createDirectories(dataDir.resolveSibling("home"));
      Path output = Files.createTempFile(home, "server", ".out");
      Path errors = Files.createTempFile(home, "server", ".err");
      ProcessBuilder builder =
          new ProcessBuilder(command)
              .directory(home.toFile())
              .redirectOutput(output.toFile())
              .redirectError(errors.toFile());
      builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
      return new ServerProcess(builder.start(), dataDir, output, errors);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns when the server has printed its URL; fails if it exits first. */
  public ServerProcess awaitReady() {
    await("a server that is ready")
        .atMost(START_TIMEOUT)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> dashboard().find() || !process.isAlive());
    if (!dashboard().find()) {
      throw new AssertionError("exited with " + process.exitValue() + ": " + errors());
    }
    return this;
  }

  private Matcher dashboard() {
    return DASHBOARD.matcher(output());
  }

  public URI url() {
    Matcher dashboard = dashboard();
    if (!dashboard.find()) {
      throw new IllegalStateException("not ready yet");
    }
    return URI.create(dashboard.group(1));
  }

  public String adminKey() {
    return read(dataDir.resolve("admin-key")).strip();
  }

  public Carillon connect() {
    return Carillon.connect(url(), adminKey());
  }

  public Path dataDir() {
    return dataDir;
  }

  public String output() {
    return read(output);
  }

  /** The standard error of the server, including its log. */
  public String errors() {
    return read(errors);
  }

  /** Whether the server has printed its URL. */
  public boolean isReady() {
    return dashboard().find();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Kills the server with SIGKILL and returns when its process has ended. */
  public void kill9() {
    process.destroyForcibly();
    awaitExit();
  }

  /** Sends SIGTERM. */
  public void terminate() {
    process.destroy();
  }

  /** Sends SIGTERM, waits for the process to end and returns its exit status. */
  public int stop() {
    terminate();
    return awaitExit();
  }

  /** Waits for the process to end and returns its exit status. */
  public int awaitExit() {
    try {
      if (!process.waitFor(STOP_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("still running: " + errors());
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Suspends all threads of the server, like a long pause of its machine. */
  public void suspend() {
    signal("STOP");
  }

  public void resume() {
    signal("CONT");
  }

  private void signal(String name) {
    try {
      new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** The resident memory of the process. */
  public long residentBytes() {
    return status("VmRSS:") * 1024;
  }

  /** The number of platform threads. */
  public int threads() {
    return Math.toIntExact(status("Threads:"));
  }

  private long status(String name) {
    return read(Path.of("/proc", Long.toString(process.pid()), "status"))
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
        .sum();
  }

  /** The value of a metric without labels. */
  public double metric(String name) {
    try (Carillon carillon = connect()) {
      return carillon
          .text("/metrics")
          .lines()
          .filter(line -> line.startsWith(name + " "))
          .mapToDouble(line -> Double.parseDouble(line.substring(name.length() + 1)))
          .sum();
    }
  }

  /** Kills the server and its embedded database. */
  void end() {
    process.destroyForcibly();
    awaitExit();
    Path postmaster = dataDir.resolve("postgres/postmaster.pid");
    if (Files.exists(postmaster)) {
      long pid = Long.parseLong(read(postmaster).lines().findFirst().orElseThrow().strip());
      OwnPostgres.signal("QUIT", List.of(pid)); // SIGKILL would leave shared memory behind
      await("the end of the database")
          .pollInterval(Duration.ofMillis(10))
          .until(() -> !Files.exists(postmaster) || ProcessHandle.of(pid).isEmpty());
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
