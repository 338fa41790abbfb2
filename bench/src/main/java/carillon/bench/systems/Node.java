package carillon.bench.systems;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A running {@code ./carillon server} of this work tree. */
final class Node implements AutoCloseable {

  private final Process process;
  private final URI url;

  private Node(Process process, URI url) {
    this.process = process;
    this.url = url;
  }

  /** Starts it and waits until it prints its address; the log is written next to the directory. */
  static Node start(Path directory, List<String> options) throws IOException {
    Files.createDirectories(directory);
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of("carillon").toAbsolutePath().toString(),
                "server",
                "--port",
                "0",
                "--data-dir",
                directory.toString()));
    command.addAll(options);
    Path log = directory.resolveSibling(directory.getFileName() + ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(directory.toFile()).redirectError(log.toFile());
    builder
        .environment()
        .keySet()
        .removeIf(name -> name.startsWith("CARILLON_") && !name.equals("CARILLON_JAVA_OPTS"));
    Process process = builder.start();
    BufferedReader output = process.inputReader();
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      if (line.strip().matches("(Dashboard|Address) .*")) { // Address if it has no API
        return new Node(process, URI.create(line.strip().replaceAll("^[A-Za-z]+ +|/$", "")));
      }
    }
    throw new IOException("./carillon server did not start; see " + log);
  }

  URI url() {
    return url;
  }

  long pid() {
    return process.pid();
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(30, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
