package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.store.db.Db;
import carillon.store.db.Migrations;
import carillon.testkit.OldPostgres;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Starts the program in ways that must fail, with one line on stderr and exit status 2. */
class BadStartsTest {

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void the_error_names_an_unknown_option_or_invalid_value() {
    assertThat(startupError("--prot", "8080")).contains("--prot").contains("--port");
    assertThat(startupError("--drain-timeout", "soon")).contains("drain-timeout");
    assertThat(startupError("--kafka", "main=127.0.0.1:9092", "--kafka", "main=127.0.0.1:9093"))
        .contains("--kafka main")
        .contains("twice");
  }

  @Test
  void an_unreachable_database_is_reported_without_its_password() throws IOException {
    int closed = freePort();

    assertThat(startupError("--database-url", "postgresql://u:secret@127.0.0.1:" + closed + "/db"))
        .contains("database")
        .doesNotContain("secret");
  }

  @Test
  void a_port_in_use_is_reported() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      String port = Integer.toString(taken.getLocalPort());

      assertThat(startupError("--database-url", url(Postgres.freshDatabase()), "--port", port))
          .contains(port);
    }
  }

  @Test
  void a_database_with_unsafe_durability_settings_is_rejected() throws IOException {
    Db.Address asynchronous = Postgres.freshDatabase();
    String name = asynchronous.url().substring(asynchronous.url().lastIndexOf('/') + 1);
    new Database(asynchronous).execute("ALTER DATABASE " + name + " SET synchronous_commit = off");
    assertThat(startupError("--database-url", url(asynchronous)))
        .contains("synchronous_commit = off");

    try (EmbeddedPostgres unsafe =
        EmbeddedPostgres.builder()
            .setServerConfig("fsync", "off")
            .setServerConfig("full_page_writes", "on")
            .setServerConfig("synchronous_commit", "on")
            .start()) {
      assertThat(
              startupError(
                  "--database-url",
                  "postgresql://postgres:postgres@127.0.0.1:" + unsafe.getPort() + "/postgres"))
          .contains("fsync = off");
    }
  }

  @Test
  void a_database_older_than_the_minimum_version_is_rejected() throws IOException {
    try (OldPostgres old = new OldPostgres("14.18", "140018")) {
      assertThat(startupError("--database-url", old.url())).contains("14.18").contains("too old");
    }
  }

  @Test
  void a_failed_migration_is_named_and_the_next_start_continues_with_it() {
    Db.Address address = Postgres.emptyDatabase();
    Migrations.open(address).apply(OptionalInt.of(1));
    new Database(address).execute("CREATE TABLE carillon.cancel_request (n int)");

    assertThat(startupError("--database-url", url(address)))
        .contains("migration 2__sql_api.sql failed: relation \"cancel_request\" already exists")
        .contains("the database is at version 1 ");

    new Database(address).execute("DROP TABLE carillon.cancel_request");
    assertThat(servers.startOn(address).stop()).isZero();
  }

  @Test
  void a_kill_during_a_migration_leaves_the_previous_version() throws SQLException {
    Db.Address address = Postgres.emptyDatabase();
    Migrations.open(address).apply(OptionalInt.of(1));
    Database database = new Database(address);
    try (Connection holder = Postgres.connect(address);
        Statement statement = holder.createStatement()) {
      holder.setAutoCommit(false);
      statement.execute("LOCK TABLE carillon.lane IN ROW EXCLUSIVE MODE");
      ServerProcess server = servers.launchOn(address);
      await()
          .pollInterval(Duration.ofMillis(20))
          .until(
              () ->
                  database.count(
                          "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                              + " WHERE d.datname = current_database() AND NOT l.granted")
                      > 0);

      server.kill9();
    }
    assertThat(Migrations.open(address).current()).isEqualTo(1);

    assertThat(servers.startOn(address).stop()).isZero();
  }

  @Test
  void a_data_directory_in_use_is_rejected_and_can_be_reused_after_a_stop() {
    Path dataDir = servers.newDataDir();
    ServerProcess first = servers.start(dataDir);

    assertThat(startupError(servers.launch(dataDir)))
        .contains("in use")
        .contains(dataDir.toString());

    assertThat(first.stop()).isZero();
    long before = System.nanoTime();
    servers.start(dataDir);
    Duration took = Duration.ofNanos(System.nanoTime() - before);
    System.out.printf("start: ready after %d ms on an existing data directory%n", took.toMillis());
    assertThat(took).isLessThan(Duration.ofSeconds(10));
  }

  private String startupError(String... arguments) {
    return startupError(servers.launch(servers.newDataDir(), arguments));
  }

  private static String startupError(ServerProcess server) {
    assertThat(server.awaitExit()).as("exit status").isEqualTo(2);
    assertThat(server.output()).isEmpty();
    assertThat(server.errors().lines()).as("stderr").hasSize(1);
    return server.errors();
  }

  private static String url(Db.Address database) {
    return Servers.url(database);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    }
  }
}
