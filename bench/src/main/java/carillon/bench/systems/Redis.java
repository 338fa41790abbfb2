package carillon.bench.systems;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A Redis server for the benchmark, as durable as PostgreSQL: every write is on disk before the
 * response.
 */
final class Redis implements Store {

  private static final String HOST = "127.0.0.1";
  private static final String PROGRAM = "redis-server";
  private static final int START_TRIES = 200;

  private final Process process;
  private final int port;

  private Redis(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  /** Returns why it cannot run, or empty; installs it if that needs no password. */
  static Optional<String> missing() throws IOException, InterruptedException {
    if (run("sh", "-c", "command -v " + PROGRAM)) {
      return Optional.empty();
    }
    String install =
        "as_root=; [ \"$(id -u)\" = 0 ] || as_root='sudo -n'; command -v apt-get && $as_root true"
            + " && $as_root apt-get update -qq"
            + " && $as_root apt-get install -y -qq --no-install-recommends "
            + PROGRAM;
    return run("sh", "-c", install) && run("sh", "-c", "command -v " + PROGRAM)
        ? Optional.empty()
        : Optional.of(PROGRAM + " is not installed");
  }

  private static boolean run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start()
            .waitFor()
        == 0;
  }

  static Redis start(Path directory) throws IOException {
    Path data = Files.createDirectories(directory.resolve("redis-" + System.nanoTime()));
    int port = Postgres.freePort();
    List<String> command = new ArrayList<>(List.of(PROGRAM));
    command.addAll(List.of("--bind", HOST, "--port", "" + port, "--dir", data.toString()));
    command.addAll(List.of("--appendonly", "yes", "--appendfsync", "always", "--save", ""));
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(data.resolve("log").toFile())
            .start();
    Redis redis = new Redis(process, port);
    redis.awaitReady();
    return redis;
  }

  private void awaitReady() throws IOException {
    for (int i = 0; ; i++) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(InetAddress.ofLiteral(HOST), port));
        return;
      } catch (IOException e) {
        if (i == START_TRIES || !process.isAlive()) {
          close();
          throw new IOException(PROGRAM + " did not start", e);
        }
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(20);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String url() {
    return "redis://%s:%d".formatted(HOST, port);
  }

  @Override
  public long pid() {
    return process.pid();
  }

  @Override
  public double walBytes() {
    return Double.NaN;
  }

  @Override
  public double statements() {
    return Double.NaN;
  }

  @Override
  public void settle() {
    // Redis has no statistics
  }

  @Override
  public void checkpoint() {
    // Redis writes to disk on its own and evicts nothing
  }

  @Override
  public Snapshot holdSnapshot() {
    throw new UnsupportedOperationException("Redis has no snapshots");
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
