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

/** A process that reads one command per line and writes one reply per line. */
final class PeerProcess implements AutoCloseable {

  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final Duration START = Duration.ofMinutes(1);
  private static final Duration END = Duration.ofSeconds(10);

  /** Marks the end of the output for a caller that waits for a reply. */
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
      this.greeting = answer(START);
    } catch (IOException e) {
      kill();
      throw e;
    }
  }

  /** Starts it and waits until it is ready; what else it says goes to a log in the directory. */
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

  /** Version and settings, as it says itself. */
  String settings() {
    return (greeting.path("version").asString("") + " " + greeting.path("settings").asString(""))
        .strip();
  }

  long pid() {
    return process.pid();
  }

  /** Gives a command and waits for the answer, which is never one of failure. */
  JsonNode ask(Map<String, ?> command, Duration limit) throws IOException {
    Writer in = process.outputWriter();
    in.write(JSON.writeValueAsString(command) + "\n");
    in.flush();
    return answer(limit);
  }

  private JsonNode answer(Duration limit) throws IOException {
    String line;
    try {
      line = answers.poll(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
    if (line == null) {
      kill(); // an answer that came now would be taken for that to the next command
      throw new IOException(name + " did not answer within " + limit.toSeconds() + " s");
    }
    if (line.equals(ENDED)) {
      throw new IOException(name + " ended" + lastWords());
    }
    return parse(name, line);
  }

  static JsonNode parse(String name, String line) throws IOException {
    JsonNode answer;
    try {
      answer = JSON.readTree(line);
    } catch (JacksonException e) {
      throw new IOException(name + " answered with something else than JSON: " + line, e);
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
      // it was killed
    }
    answers.add(ENDED);
  }

  private String lastWords() {
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
      // it has ended
    }
    try {
      if (!process.waitFor(END.toMillis(), TimeUnit.MILLISECONDS)) {
        kill();
      }
    } catch (InterruptedException e) {
      kill();
      Thread.currentThread().interrupt();
    }
  }
}
