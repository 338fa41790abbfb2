package carillon.testkit;

import carillon.app.postgres.EmbeddedPostgres;
import carillon.store.db.Db;
import carillon.store.db.Migrations;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/** A PostgreSQL server for one test, which may stop, freeze or kill it at any time. */
public final class OwnPostgres implements AutoCloseable {

  /** Unpacked once for all tests. */
  private static final Path BINARIES = Path.of("target", "postgres-bin").toAbsolutePath();

  private final Path directory;
  private final EmbeddedPostgres server;

  /** How a server is stopped. */
  public enum Stop {
    /** Closes all sessions cleanly. */
    FAST("INT"),
    /** Like a crash: the next start replays the log. */
    IMMEDIATE("QUIT");

    private final String signal;

    Stop(String signal) {
      this.signal = signal;
    }
  }

  public OwnPostgres(Path directory) {
    this(directory, EmbeddedPostgres.start(directory, BINARIES));
    Migrations.open(address()).apply(OptionalInt.empty());
  }

  private OwnPostgres(Path directory, EmbeddedPostgres server) {
    this.directory = directory;
    this.server = server;
  }

  /** Starts a server on an existing data directory. */
  static OwnPostgres startIn(Path directory) {
    return new OwnPostgres(directory, EmbeddedPostgres.start(directory, BINARIES));
  }

  public Db.Address address() {
    return new Db.Address(server.jdbcUrl(), server.user(), server.password());
  }

  /** The address for tests that change settings of the server. */
  public Db.Address superuser() {
    try {
      String password = Files.readString(directory.resolve("postgres-superuser-password")).strip();
      return new Db.Address(server.jdbcUrl(), "postgres", password);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Path directory() {
    return directory;
  }

  public int port() {
    return Integer.parseInt(address().url().replaceAll(".*:(\\d+)/.*", "$1"));
  }

  /** Restarts the server on the same port and returns when it is up. */
  public void restart(Stop stop) throws IOException, InterruptedException {
    stop(stop);
    start();
  }

  /** Returns when the server is down: until then its sessions still work. */
  public void stop(Stop stop) {
    long pid = postmaster();
    signal(stop.signal, List.of(pid));
    // The file disappears first, and the process may stay as a zombie.
    await(
        () ->
            !Files.exists(pidFile())
                || ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
  }

  /** Starts the server on the same port once the old one is down, and returns when it is up. */
  public void start() {
    await(server::revive);
  }

  private static void await(Callable<Boolean> condition) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(10))
        .until(condition);
  }

  /** Suspends all processes of the server: connections stay open, but nothing responds. */
  public void freeze() {
    signal("STOP", processes());
  }

  public void thaw() {
    signal("CONT", processes());
  }

  /** Kills all processes of the server at once, like the loss of its machine. */
  public void kill9() {
    signal("KILL", processes());
  }

  /** The processes whose title contains the text, such as {@code walreceiver}. */
  List<Long> processes(String title) {
    return processes().stream().filter(pid -> title(pid).contains(title)).toList();
  }

  private static String title(long pid) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(pid), "cmdline"));
    } catch (IOException e) {
      return ""; // it has just ended
    }
  }

  private List<Long> processes() {
    List<Long> pids = new ArrayList<>(List.of(postmaster()));
    try (Stream<ProcessHandle> children =
        ProcessHandle.of(postmaster()).stream().flatMap(ProcessHandle::descendants)) {
      children.map(ProcessHandle::pid).forEach(pids::add);
    }
    return pids;
  }

  private long postmaster() {
    try {
      return Long.parseLong(Files.readAllLines(pidFile()).getFirst().strip());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Path pidFile() {
    return directory.resolve("postgres/postmaster.pid");
  }

  static void signal(String name, List<Long> pids) {
    List<String> command = new ArrayList<>(List.of("kill", "-" + name));
    pids.forEach(pid -> command.add(Long.toString(pid)));
    try {
      new ProcessBuilder(command).redirectErrorStream(true).start().waitFor();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    server.close();
  }
}
