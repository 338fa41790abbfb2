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
 * The program as people run it: a process of its own, for what only its death, its silence or its
 * memory shows. Made by {@link Servers}, which ends it.
 */
public final class ServerProcess {

  /**
   * As the {@code carillon} script gives them, but for the last: a short life is over before a
   * better compiler pays. Give the property to measure without it.
   */
  private static final List<String> FLAGS =
      List.of(
          System.getProperty(
                  "carillon.e2e.flags",
                  "-XX:+UseParallelGC -Xms128m -XX:MaxRAMPercentage=25 -XX:TieredStopAtLevel=1")
              .split(" ", -1));

  private static final Pattern DASHBOARD =
      Pattern.compile("(?:Dashboard|Address)\\s+(http\\S+?)/?\\s");
  private static final Duration START_PATIENCE = Duration.ofSeconds(60);
  private static final Duration STOP_PATIENCE = Duration.ofSeconds(40);

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
   * The memory that the {@code carillon} script gives to a server, and what it says about running
   * out of it.
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

  /** Starts {@code carillon server}; returns before it is ready, if it ever will be. */
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

  /** Returns when it has printed its URL. */
  public ServerProcess awaitReady() {
    await("a server that is ready")
        .atMost(START_PATIENCE)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> dashboard().find() || !process.isAlive());
    if (!dashboard().find()) {
      throw new AssertionError("ended with " + process.exitValue() + ": " + errors());
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

  /** Its stderr, including the log. */
  public String errors() {
    return read(errors);
  }

  /** Whether it has printed its URL. */
  public boolean isReady() {
    return dashboard().find();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Takes its life without a warning, and returns when it is gone. */
  public void kill9() {
    process.destroyForcibly();
    awaitExit();
  }

  /** Sends SIGTERM. */
  public void terminate() {
    process.destroy();
  }

  /** Sends SIGTERM, waits for the end and returns the exit status. */
  public int stop() {
    terminate();
    return awaitExit();
  }

  /** Its exit status, once it has ended. */
  public int awaitExit() {
    try {
      if (!process.waitFor(STOP_PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new AssertionError("still running: " + errors());
      }
      return process.exitValue();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Stops the clock of every thread in it, as a long pause of the machine would. */
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

  /** The memory that it has now, as the system counts it. */
  public long residentBytes() {
    return status("VmRSS:") * 1024;
  }

  /** Platform threads. */
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

  /** The value of a metric that has no labels. */
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

  /** Kills it, together with its embedded database. */
  void end() {
    process.destroyForcibly();
    awaitExit();
    Path postmaster = dataDir.resolve("postgres/postmaster.pid");
    if (Files.exists(postmaster)) {
      long pid = Long.parseLong(read(postmaster).lines().findFirst().orElseThrow().strip());
      OwnPostgres.signal("QUIT", List.of(pid)); // killed, it would leave shared memory behind
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
