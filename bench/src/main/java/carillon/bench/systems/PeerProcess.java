package carillon.bench.systems;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A process that reads one command per line and writes one answer per line. */
final class PeerProcess implements AutoCloseable {

  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final Duration START_TIMEOUT = Duration.ofMinutes(1);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);

  /** Marks the end of the output for a caller that waits for an answer. */
  private static final String ENDED = "";

  private final String name;
  private final Path log;
  private final Process process;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private final JsonNode greeting;

  private PeerProcess(String name, Path log, Process process) throws IOException {
    this.name = name;
    this.log = log;
    this.process = process;
    Thread.ofVirtual().start(this::read);
    try {
      this.greeting = answer(START_TIMEOUT);
    } catch (IOException e) {
      kill();
      throw e;
    }
  }

  /** Starts it and waits until it is ready; its standard error goes to a log in the directory. */
  static PeerProcess start(
      String name, List<String> command, Map<String, String> environment, Path directory)
      throws IOException {
    Files.createDirectories(directory);
    Path log = directory.resolve(name + ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()));
    builder.environment().putAll(environment);
    return new PeerProcess(name, log, builder.start());
  }

  /** Version and settings, as reported by the process. */
  String settings() {
    return (greeting.path("version").asString("") + " " + greeting.path("settings").asString(""))
        .strip();
  }

  long pid() {
    return process.pid();
  }

  /** Sends a command and waits for the answer; throws if the answer is an error. */
  JsonNode ask(Map<String, ?> command, Duration timeout) throws IOException {
    Writer in = process.outputWriter();
    in.write(JSON.writeValueAsString(command) + "\n");
    in.flush();
    return answer(timeout);
  }

  private JsonNode answer(Duration timeout) throws IOException {
    String line;
    try {
      line = answers.poll(timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
    if (line == null) {
      kill(); // a late answer would be mistaken for that of the next command
      throw new IOException(name + " did not answer within " + timeout.toSeconds() + " s");
    }
    if (line.equals(ENDED)) {
      throw new IOException(name + " exited" + lastLogLine());
    }
    return parse(name, line);
  }

  static JsonNode parse(String name, String line) throws IOException {
    JsonNode answer;
    try {
      answer = JSON.readTree(line);
    } catch (JacksonException e) {
      throw new IOException(name + " answered with invalid JSON: " + line, e);
    }
    if (answer.has("error")) {
      throw new IOException(name + ": " + answer.path("error").asString());
    }
    return answer;
  }

  private void read() {
    try (BufferedReader output = process.inputReader()) {
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        answers.add(line);
      }
    } catch (IOException | UncheckedIOException _) {
      // killed
    }
    answers.add(ENDED);
  }

  private String lastLogLine() {
    try {
      List<String> lines = Files.readAllLines(log);
      return lines.isEmpty() ? "" : ": " + lines.getLast();
    } catch (IOException | UncheckedIOException _) {
      return "";
    }
  }

  private void kill() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }

  @Override
  public void close() {
    try (Writer in = process.outputWriter()) {
      in.write("{\"do\":\"quit\"}\n");
    } catch (IOException _) {
      // already exited
    }
    try {
      if (!process.waitFor(STOP_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
        kill();
      }
    } catch (InterruptedException e) {
      kill();
      Thread.currentThread().interrupt();
    }
  }
}
