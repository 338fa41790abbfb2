package carillon.testkit;

import carillon.app.EmbeddedPostgres;
import carillon.store.Db;
import carillon.store.Migrations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.OptionalInt;
import org.awaitility.Awaitility;

/** A PostgreSQL for one test, which may stop it in the middle of everything. */
public final class OwnPostgres implements AutoCloseable {

  /** Unpacked once for all tests. */
  private static final Path BINARIES = Path.of("target", "postgres-bin").toAbsolutePath();

  private final Path directory;
  private final EmbeddedPostgres server;

  /** How a server is stopped. */
  public enum Stop {
    /** Ends all sessions in order. */
    FAST("INT"),
    /** As a crash would: the next start replays the log. */
    IMMEDIATE("QUIT");

    private final String signal;

    Stop(String signal) {
      this.signal = signal;
    }
  }

  public OwnPostgres(Path directory) {
    this.directory = directory;
    this.server = EmbeddedPostgres.start(directory, BINARIES);
    Db.Address address = address();
    Migrations.open(address.url(), address.user(), address.password()).apply(OptionalInt.empty());
  }

  public Db.Address address() {
    return new Db.Address(server.jdbcUrl(), server.user(), server.password());
  }

  /** Returns when it is up again, on the same port. */
  public void restart(Stop stop) throws IOException, InterruptedException {
    long pid =
        Long.parseLong(
            Files.readAllLines(directory.resolve("postgres/postmaster.pid")).getFirst().strip());
    new ProcessBuilder("kill", "-" + stop.signal, Long.toString(pid)).start().waitFor();
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(10))
        .until(server::revive);
  }

  @Override
  public void close() {
    server.close();
  }
}
