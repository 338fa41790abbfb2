package carillon.testkit;

import carillon.store.db.Db;
import carillon.store.db.Migrations;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A real PostgreSQL for the whole test run, with a separate database for each test class. The
 * product connects as an unprivileged role, created as in docs/operations.md; only the tests
 * themselves may connect as the superuser.
 */
public final class Postgres {

  private static final String ROLE = "carillon";
  private static final String SUPERUSER = "postgres";

  /** Each of two test processes has some 250 databases of 10 MB, and their log. */
  private static final long MIN_MEMORY_BYTES = 12L << 30;

  private static final AtomicInteger COUNT = new AtomicInteger();
  private static final EmbeddedPostgres SERVER = start();

  private Postgres() {}

  private static EmbeddedPostgres start() {
    try {
      Path directory = Files.createTempDirectory(parentOfData(), "carillon-test-postgres");
      Runtime.getRuntime().addShutdownHook(new Thread(() -> discard(directory)));
      EmbeddedPostgres server =
          EmbeddedPostgres.builder()
              .setDataDirectory(directory)
              .setRegisterShutdownHook(false)
              .setServerConfig("fsync", "on")
              .setServerConfig("full_page_writes", "on")
              .setServerConfig("synchronous_commit", "on")
              // With hundreds of databases, the autovacuum launcher starts ten workers a second.
              .setServerConfig("autovacuum", "off")
              .setServerConfig("max_wal_size", "2GB")
              .setServerConfig("max_connections", "300")
              .setServerConfig("shared_buffers", "256MB")
              .setServerConfig("shared_preload_libraries", "pg_stat_statements")
              .start();
      try (Connection connection = server.getPostgresDatabase().getConnection();
          Statement statement = connection.createStatement()) {
        statement.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD '" + ROLE + "'");
        statement.execute("CREATE DATABASE carillon_template OWNER " + ROLE);
      }
      Migrations.open(url(server, "carillon_template"), ROLE, ROLE).apply(OptionalInt.empty());
      return server;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * In memory where there is plenty: most tests wait for one commit after another, and on a disk
   * the slow ones take four times as long. Tests of durability start servers of their own.
   */
  private static Path parentOfData() throws IOException {
    Path memory = Path.of("/dev/shm");
    boolean hasRoom =
        Files.isWritable(memory) && Files.getFileStore(memory).getUsableSpace() > MIN_MEMORY_BYTES;
    return hasRoom ? memory : Path.of(System.getProperty("java.io.tmpdir"));
  }

  /**
   * Stops the server without a final checkpoint, and deletes its files in the background: waiting
   * for the deletion of hundreds of databases would delay the end of the test run.
   */
  private static void discard(Path directory) {
    String stop = "kill -QUIT \"$(head -n 1 \"$0/postmaster.pid\")\"; rm -rf \"$0\"";
    try {
      new ProcessBuilder("sh", "-c", stop, directory.toString()).start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String url(EmbeddedPostgres server, String database) {
    return server.getJdbcUrl(SUPERUSER, database).replaceFirst("\\?.*", "");
  }

  /** A new database with the latest schema. */
  public static Db.Address freshDatabase() {
    return create("TEMPLATE carillon_template");
  }

  /** A new database with nothing in it. */
  public static Db.Address emptyDatabase() {
    return create("");
  }

  // Synchronized: PostgreSQL cannot create two copies of one template at the same time.
  private static synchronized Db.Address create(String from) {
    String name = "test_" + COUNT.incrementAndGet();
    try (Connection connection = SERVER.getPostgresDatabase().getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE DATABASE " + name + " OWNER " + ROLE + " " + from);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    return new Db.Address(url(SERVER, name), ROLE, ROLE);
  }

  /** The address of the database, for the superuser. */
  public static Db.Address asSuperuser(Db.Address address) {
    return new Db.Address(address.url(), SUPERUSER, SUPERUSER, address.pooler());
  }

  /** Opens a connection for the test itself. */
  public static Connection connect(Db.Address address) {
    try {
      return DriverManager.getConnection(address.url(), address.user(), address.password());
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
