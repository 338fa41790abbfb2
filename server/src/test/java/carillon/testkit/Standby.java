package carillon.testkit;

import static org.awaitility.Awaitility.await;

import carillon.store.db.Db;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A streaming standby of an {@link OwnPostgres}, which can be promoted. It starts from a copy of
 * the running primary's files: the embedded binaries do not include pg_basebackup.
 */
public final class Standby implements AutoCloseable {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final Set<String> NOT_COPIED =
      Set.of("postmaster.pid", "postmaster.opts", "server.log");

  private final OwnPostgres primary;
  private final OwnPostgres server;

  /** Whether every commit of the primary waits for the standby. */
  public enum Mode {
    SYNCHRONOUS,
    ASYNCHRONOUS
  }

  private Standby(OwnPostgres primary, OwnPostgres server) {
    this.primary = primary;
    this.server = server;
  }

  /** Starts a standby and returns when it has caught up and streams. */
  public static Standby of(OwnPostgres primary, Path directory, Mode mode) {
    Path files = directory.resolve("postgres");
    try (Connection backup = Postgres.connect(primary.superuser());
        Statement statement = backup.createStatement()) {
      statement.execute("SELECT pg_backup_start('standby', fast => true)");
      copy(primary.directory().resolve("postgres"), files);
      try (ResultSet row = statement.executeQuery("SELECT labelfile FROM pg_backup_stop(false)")) {
        row.next();
        Files.writeString(files.resolve("backup_label"), row.getString(1));
      }
      follow(primary.superuser(), files);
      for (String secret : List.of("postgres-password", "postgres-superuser-password")) {
        Files.copy(primary.directory().resolve(secret), directory.resolve(secret));
      }
      Standby standby = new Standby(primary, OwnPostgres.startIn(directory));
      if (mode == Mode.SYNCHRONOUS) {
        statement.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        statement.execute("SELECT pg_reload_conf()");
      }
      String wanted = mode == Mode.SYNCHRONOUS ? "sync" : "async";
      await().atMost(TIMEOUT).until(() -> standby.replication().equals(List.of(wanted)));
      return standby;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void follow(Db.Address primary, Path files) throws IOException {
    Files.createFile(files.resolve("standby.signal"));
    // Not postgresql.conf, which is rewritten at each start.
    Files.writeString(
        files.resolve("postgresql.auto.conf"),
        "primary_conninfo = 'host=127.0.0.1 port=%s user=%s password=%s application_name=standby'%n"
            .formatted(
                primary.url().replaceAll(".*:(\\d+)/.*", "$1"),
                primary.user(),
                primary.password()));
    Files.setPosixFilePermissions(files, PosixFilePermissions.fromString("rwx------"));
  }

  /** Copies files that may change meanwhile; the streamed WAL repairs the copy. */
  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> paths = Files.walk(from)) {
      for (Path path : (Iterable<Path>) paths::iterator) {
        Path copy = to.resolve(from.relativize(path).toString());
        if (Files.isDirectory(path)) {
          Files.createDirectories(copy);
        } else if (!NOT_COPIED.contains(path.getFileName().toString())) {
          copyFile(path, copy);
        }
      }
    }
  }

  private static void copyFile(Path path, Path copy) throws IOException {
    try {
      Files.copy(path, copy, StandardCopyOption.COPY_ATTRIBUTES);
    } catch (NoSuchFileException e) {
      // The file was removed meanwhile.
    }
  }

  private List<String> replication() throws SQLException {
    try (Connection connection = Postgres.connect(primary.superuser());
        Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")) {
      return row.next() ? List.of(row.getString(1)) : List.of();
    }
  }

  /** An address with both servers in one URL, the primary first. */
  public Db.Address bothHosts() {
    Db.Address address = primary.address();
    return new Db.Address(
        address.url().replaceFirst("/postgres$", ",127.0.0.1:" + server.port() + "/postgres"),
        address.user(),
        address.password());
  }

  public Db.Address address() {
    return server.address();
  }

  /** Freezes the process that receives the WAL, so that the standby falls behind. */
  public void stopReceiving() {
    OwnPostgres.signal("STOP", receivers());
  }

  /** Ends {@link #stopReceiving}. */
  public void resumeReceiving() {
    OwnPostgres.signal("CONT", receivers());
  }

  /** Stops the replication permanently: later commits are on the primary only. */
  public void cutOff() {
    try (Connection connection = Postgres.connect(server.superuser());
        Statement statement = connection.createStatement()) {
      statement.execute("ALTER SYSTEM SET primary_conninfo = ''");
      statement.execute("SELECT pg_reload_conf()");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    await().atMost(TIMEOUT).until(() -> server.processes("walreceiver").isEmpty());
  }

  private List<Long> receivers() {
    List<Long> receivers = server.processes("walreceiver");
    if (receivers.isEmpty()) {
      throw new IllegalStateException("the standby has no walreceiver");
    }
    return receivers;
  }

  /**
   * Returns when the standby accepts writes. Fails after {@link #stopReceiving}: a promotion waits
   * for the process that receives the WAL.
   */
  public void promote() {
    try (Connection connection = Postgres.connect(server.superuser());
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT pg_promote(true, 30)")) {
      row.next();
      if (!row.getBoolean(1)) {
        throw new IllegalStateException("not promoted");
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    server.thaw(); // a suspended process cannot exit
    server.close();
  }
}
