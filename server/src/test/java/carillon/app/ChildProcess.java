package carillon.app;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class of the tests in a separate JVM, for tests that kill a process. */
public final class ChildProcess implements AutoCloseable {

  private final Process process;
  private final BufferedReader out;
  private final Path errors;
  private final StringBuilder seen = new StringBuilder();

  private ChildProcess(Process process, Path errors) {
    this.process = process;
    this.out = process.inputReader();
    this.errors = errors;
  }

  public static ChildProcess start(Class<?> main, Path directory, String... arguments)
      throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
    command.addAll(List.of(arguments));
    Path errors = directory.resolve("stderr");
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(directory.toFile()).redirectError(errors.toFile());
    builder.environment().keySet().removeIf(name -> name.startsWith("CARILLON_"));
    return new ChildProcess(builder.start(), errors);
  }

  /** Reads the output until a line contains the text, and returns that line. */
  public String awaitLine(String text) throws IOException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      seen.append(line).append('\n');
      if (line.contains(text)) {
        return line;
      }
    }
    throw new AssertionError("exited without \"" + text + "\": " + seen + Files.readString(errors));
  }

  void terminate() {
    process.toHandle().destroy(); // Process.destroy would close its output too
  }

  public void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Reads the rest of the output, waits for the process to end and returns its exit status. */
  public int status() throws IOException, InterruptedException {
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      seen.append(line).append('\n');
    }
    if (!process.waitFor(30, TimeUnit.SECONDS)) {
      throw new AssertionError("still running: " + seen);
    }
    return process.exitValue();
  }

  String output() {
    return seen.toString();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
