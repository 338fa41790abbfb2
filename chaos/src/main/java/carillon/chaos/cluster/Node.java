package carillon.chaos.cluster;

import carillon.chaos.history.Fields;
import carillon.chaos.history.Recorder;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A server process that is restarted if it exits although it should run. The node keeps its label
 * over all its lives; the cluster knows each life by another id.
 */
public final class Node implements AutoCloseable {

  private static final Duration RESTART_DELAY = Duration.ofMillis(500);

  private final String label;
  private final Program program;
  private final Path directory;
  private final Path log;
  private final List<String> options;
  private final Recorder recorder;
  private @Nullable Process process; // guarded by this
  private Instant launched = Instant.EPOCH; // guarded by this
  private boolean shouldRun; // guarded by this
  private int lives; // guarded by this
  private int stoppedLife; // the last life that was stopped on purpose; guarded by this
  private volatile @Nullable URI url;

  Node(
      String label,
      Program program,
      Path directory,
      Path log,
      List<String> options,
      Recorder recorder) {
    this.label = label;
    this.program = program;
    this.directory = directory;
    this.log = log;
    this.options = options;
    this.recorder = recorder;
  }

  public String label() {
    return label;
  }

  /** The current or last address; null before the node was ready for the first time. */
  public @Nullable URI url() {
    return url;
  }

  /** How often the node was started. */
  public synchronized int lives() {
    return lives;
  }

  /** The id of the current or last process; 0 before the first. */
  public synchronized long pid() {
    return process == null ? 0 : process.pid();
  }

  /** When the current or last process was started. */
  public synchronized Instant launched() {
    return launched;
  }

  /** Starts the node unless it is running, and keeps it running. */
  public synchronized void start() throws IOException {
    shouldRun = true;
    if (process == null || !process.isAlive()) {
      launch();
    }
  }

  private void launch() throws IOException {
    Files.createDirectories(directory);
    List<String> command = new ArrayList<>(program.command());
    command.add("server");
    command.addAll(List.of("--port", "0", "--node-id", label));
    command.addAll(List.of("--data-dir", directory.resolve("data").toString()));
    command.addAll(options);
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
    builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
    builder.environment().putAll(program.environment());
    launched = InstantSource.system().instant();
    Process started = Processes.start(builder);
    process = started;
    int life = ++lives;
    recorder.event("node-start", Fields.of("node", label).and("life", life));
    HarnessThread.start(recorder, label, () -> follow(started, life));
  }

  /** Reads the output of the process until it exits, to find its address. */
  private void read(Process started, int life) {
    try (BufferedReader output = started.inputReader()) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        if (line.strip().matches("(Dashboard|Address) .*")) { // Address: a node without an API
          url = URI.create(line.strip().replaceAll("^[A-Za-z]+ +|/$", ""));
          recorder.event("node-ready", Fields.of("node", label).and("life", life));
        }
      }
    } catch (IOException _) {
      // stopping a process closes its output
    }
  }

  private void follow(Process started, int life) {
    read(started, life);
    try {
      int status = started.waitFor();
      boolean expected = wasStopped(life);
      recorder.event(
          "node-exit",
          Fields.of("node", label)
              .and("life", life)
              .and("status", status)
              .and("expected", expected));
      if (needsRestart(life)) {
        Thread.sleep(RESTART_DELAY);
        synchronized (this) {
          if (needsRestart(life)) {
            launch();
          }
        }
      }
    } catch (IOException e) {
      recorder.event("harness", Fields.of("node", label).and("error", String.valueOf(e)));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Whether this life was stopped on purpose. The node may have been started again before the
   * process was gone.
   */
  private synchronized boolean wasStopped(int life) {
    return !shouldRun || stoppedLife >= life;
  }

  private synchronized boolean needsRestart(int life) {
    return shouldRun && lives == life;
  }

  public synchronized boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Whether the process runs and reports that it is ready. */
  public boolean isReady(Api api) {
    URI at = url;
    return at != null && isAlive() && api.isReady(at);
  }

  /** Kills the process with SIGKILL. The node stays down until it is started. */
  public synchronized void kill9() throws InterruptedException {
    shouldRun = false;
    stoppedLife = lives;
    if (process != null) {
      process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
    }
  }

  /**
   * Stops the node with SIGTERM and returns whether it exited in time. It stays down until it is
   * started.
   */
  public boolean terminate(Duration timeout) throws InterruptedException {
    Process ending;
    synchronized (this) {
      shouldRun = false;
      stoppedLife = lives;
      ending = process;
    }
    if (ending == null) {
      return true;
    }
    ending.destroy();
    return ending.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Pauses the process with SIGSTOP. */
  public synchronized void suspend() {
    if (process != null && process.isAlive()) {
      Signals.stop(List.of(process.pid()));
    }
  }

  public synchronized void resume() {
    if (process != null && process.isAlive()) {
      Signals.resume(List.of(process.pid()));
    }
  }

  @Override
  public synchronized void close() {
    shouldRun = false;
    if (process != null) {
      process.destroyForcibly();
    }
  }
}
