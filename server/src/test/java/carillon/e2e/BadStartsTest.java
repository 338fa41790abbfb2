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

/** Starts the program as it cannot run: it says why in one line and ends with status 2. */
class BadStartsTest {

  @RegisterExtension final Servers servers = new Servers();

  @Test
  void a_wrong_option_or_value_is_named() {
    assertThat(refusal("--prot", "8080")).contains("--prot").contains("--port");
    assertThat(refusal("--drain-timeout", "soon")).contains("drain-timeout");
    assertThat(refusal("--kafka", "main=127.0.0.1:9092", "--kafka", "main=127.0.0.1:9093"))
        .contains("--kafka main")
        .contains("twice");
  }

  @Test
  void a_database_that_cannot_be_reached_is_reported() throws IOException {
    int closed = freePort();

    assertThat(refusal("--database-url", "postgresql://u:secret@127.0.0.1:" + closed + "/db"))
        .contains("database")
        .doesNotContain("secret");
  }

  @Test
  void a_port_that_is_taken_is_reported() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      String port = Integer.toString(taken.getLocalPort());

      assertThat(refusal("--database-url", url(Postgres.freshDatabase()), "--port", port))
          .contains(port);
    }
  }

  @Test
  void a_database_that_could_lose_tasks_is_refused() throws IOException {
    Db.Address hasty = Postgres.freshDatabase();
    String name = hasty.url().substring(hasty.url().lastIndexOf('/') + 1);
    new Database(hasty).execute("ALTER DATABASE " + name + " SET synchronous_commit = off");
    assertThat(refusal("--database-url", url(hasty))).contains("synchronous_commit = off");

    try (EmbeddedPostgres careless =
        EmbeddedPostgres.builder()
            .setServerConfig("fsync", "off")
            .setServerConfig("full_page_writes", "on")
            .setServerConfig("synchronous_commit", "on")
            .start()) {
      assertThat(
              refusal(
                  "--database-url",
                  "postgresql://postgres:postgres@127.0.0.1:" + careless.getPort() + "/postgres"))
          .contains("fsync = off");
    }
  }

  @Test
  void a_database_that_is_too_old_is_refused() throws IOException {
    try (OldPostgres old = new OldPostgres("14.18", "140018")) {
      assertThat(refusal("--database-url", old.url())).contains("14.18").contains("too old");
    }
  }

  @Test
  void a_migration_that_fails_is_named_and_the_next_start_continues_it() {
    Db.Address address = Postgres.emptyDatabase();
    Migrations.open(address).apply(OptionalInt.of(1));
    new Database(address).execute("CREATE TABLE carillon.cancel_request (n int)");

    assertThat(refusal("--database-url", url(address)))
        .contains("migration 2__sql_api.sql failed: relation \"cancel_request\" already exists")
        .contains("the database is at version 1 ");

    new Database(address).execute("DROP TABLE carillon.cancel_request");
    assertThat(servers.startOn(address).stop()).isZero();
  }

  @Test
  void a_program_that_is_killed_in_the_middle_of_a_migration_leaves_the_version_before_it()
      throws SQLException {
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
  void a_data_directory_belongs_to_one_program_and_starts_again_quickly() {
    Path dataDir = servers.newDataDir();
    ServerProcess first = servers.start(dataDir);

    assertThat(refusal(servers.launch(dataDir))).contains("in use").contains(dataDir.toString());

    assertThat(first.stop()).isZero();
    long before = System.nanoTime();
    servers.start(dataDir);
    Duration took = Duration.ofNanos(System.nanoTime() - before);
    System.out.printf("start: ready after %d ms on an existing data directory%n", took.toMillis());
    assertThat(took).isLessThan(Duration.ofSeconds(10));
  }

  private String refusal(String... arguments) {
    return refusal(servers.launch(servers.newDataDir(), arguments));
  }

  private static String refusal(ServerProcess server) {
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
