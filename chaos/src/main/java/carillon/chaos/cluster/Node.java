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
 * A server process that is started again when it ends although it should run. It keeps its label
 * over all its lives; the cluster knows each by another id.
 */
public final class Node implements AutoCloseable {

  private static final Duration AGAIN = Duration.ofMillis(500);

  private final String label;
  private final Program program;
  private final Path directory;
  private final Path log;
  private final List<String> options;
  private final Recorder recorder;
  private @Nullable Process process; // guarded by this
  private Instant launched = Instant.EPOCH; // guarded by this
  private boolean wanted; // guarded by this
  private int lives; // guarded by this
  private int asked; // the last life that was told to end; guarded by this
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

  /** Where it answers, or last did; null before it ever was ready. */
  public @Nullable URI url() {
    return url;
  }

  /** How often it was started. */
  public synchronized int lives() {
    return lives;
  }

  /** Of its process, or of the last that it had; 0 before the first. */
  public synchronized long pid() {
    return process == null ? 0 : process.pid();
  }

  /** When the life that it has, or had last, began. */
  public synchronized Instant launched() {
    return launched;
  }

  /** Lets it run from now on; nothing happens if it does. */
  public synchronized void start() throws IOException {
    wanted = true;
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
    Watched.start(recorder, label, () -> follow(started, life));
  }

  /** Reads what it prints until it ends; the first thing worth knowing is where it answers. */
  private void read(Process started, int life) {
    try (BufferedReader output = started.inputReader()) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        if (line.strip().matches("(Dashboard|Address) .*")) { // the latter where there is no API
          url = URI.create(line.strip().replaceAll("^[A-Za-z]+ +|/$", ""));
          recorder.event("node-ready", Fields.of("node", label).and("life", life));
        }
      }
    } catch (IOException _) {
      // who tells a process to end closes what it prints
    }
  }

  private void follow(Process started, int life) {
    read(started, life);
    try {
      int status = started.waitFor();
      boolean expected = wasAsked(life);
      recorder.event(
          "node-exit",
          Fields.of("node", label)
              .and("life", life)
              .and("status", status)
              .and("expected", expected));
      if (shouldRun(life)) {
        Thread.sleep(AGAIN);
        synchronized (this) {
          if (shouldRun(life)) {
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

  /** Who told it so may have wanted it back before it was gone. */
  private synchronized boolean wasAsked(int life) {
    return !wanted || asked >= life;
  }

  private synchronized boolean shouldRun(int life) {
    return wanted && lives == life;
  }

  public synchronized boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Whether it has said, in this life, where it answers. */
  public boolean isReady(Api api) {
    URI at = url;
    return at != null && isAlive() && api.isReady(at);
  }

  /** Takes its life without a warning; it stays dead until it is started. */
  public synchronized void kill9() throws InterruptedException {
    wanted = false;
    asked = lives;
    if (process != null) {
      process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
    }
  }

  /** Asks it to stop and returns whether it did so in time; it stays away until it is started. */
  public boolean terminate(Duration patience) throws InterruptedException {
    Process ending;
    synchronized (this) {
      wanted = false;
      asked = lives;
      ending = process;
    }
    if (ending == null) {
      return true;
    }
    ending.destroy();
    return ending.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Stops the clocks of all its threads. */
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
    wanted = false;
    if (process != null) {
      process.destroyForcibly();
    }
  }
}
