package carillon.bench.systems;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A Kafka broker for the benchmark, on the same disk as PostgreSQL. */
public final class Kafka implements AutoCloseable {

  private final Process process;
  private final int port;

  private Kafka(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  public static Kafka start(Path directory) throws IOException {
    Path data = Files.createDirectories(directory.resolve("kafka"));
    int port = Postgres.freePort();
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-cp",
                System.getProperty("java.class.path"),
                "carillon.bench.peers.KafkaNode",
                data.toString(),
                Integer.toString(port),
                Integer.toString(Postgres.freePort()))
            .redirectError(directory.resolve("kafka.log").toFile())
            .start();
    if (process.inputReader().readLine() == null) {
      throw new IOException("Kafka did not start; see " + directory.resolve("kafka.log"));
    }
    return new Kafka(process, port);
  }

  public String servers() {
    return "127.0.0.1:" + port;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
