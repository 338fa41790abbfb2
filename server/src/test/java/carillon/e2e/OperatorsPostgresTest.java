package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.DatabaseCheck;
import carillon.store.db.Db;
import carillon.store.db.Migrations;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import carillon.testkit.SqlUser;
import carillon.testkit.SystemPostgres;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A server on a database that was prepared as in docs/operations.md, with an unprivileged role. */
class OperatorsPostgresTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension final Servers servers = new Servers();
  @TempDir static Path directory;

  private static SystemPostgres packaged;

  @BeforeAll
  static void start() {
    packaged = SystemPostgres.start(directory);
    packaged.sqlAsSuperuser(
        "CREATE ROLE carillon LOGIN PASSWORD '...'",
        "CREATE ROLE shop_app LOGIN",
        "CREATE ROLE someone LOGIN");
  }

  @AfterAll
  static void stop() {
    packaged.close();
  }

  @Test
  void all_features_work_on_the_packaged_postgresql() throws SQLException {
    packaged.sqlAsSuperuser("CREATE DATABASE works OWNER carillon");
    assertThat(assertAllFeaturesWork(packaged.address("works", "carillon")))
        .startsWith(packaged.version() + ".");
  }

  @Test
  void all_features_work_on_the_newest_postgresql() throws SQLException {
    assertThat(assertAllFeaturesWork(Postgres.emptyDatabase())).startsWith("18.");
  }

  @Test
  void the_documented_rights_suffice_for_a_shared_database() throws SQLException {
    packaged.sqlAsSuperuser("CREATE DATABASE app", "GRANT CREATE ON DATABASE app TO carillon");
    migrate(packaged.address("app", "carillon"));

    packaged.sqlAsSuperuser("CREATE DATABASE app2");
    SqlUser superuser = SqlUser.as("postgres", packaged.address("app2", "postgres"));
    superuser.sql("CREATE SCHEMA carillon AUTHORIZATION carillon");
    superuser.close();
    migrate(packaged.address("app2", "carillon"));
  }

  /** Checks and migrates the database, like a server at startup. */
  private static void migrate(Db.Address address) {
    assertThat(DatabaseCheck.refusal(address)).isEmpty();
    Migrations.open(address).apply(OptionalInt.empty());
  }

  /** Uses the commands of docs/operations.md. */
  @Test
  void a_restored_dump_continues_where_it_stopped() throws SQLException {
    packaged.sqlAsSuperuser(
        "CREATE DATABASE dumped OWNER carillon", "CREATE DATABASE restored OWNER carillon");
    Db.Address from = packaged.address("dumped", "carillon");
    Db.Address to = packaged.address("restored", "carillon");
    String done;
    String waiting;
    ServerProcess first = servers.startOn(from);
    try (Carillon api = first.connect()) {
      done = create(api, Map.of("type", "done", "target", discard()));
      waiting = create(api, Map.of("type", "waits", "delay", "1h", "target", discard()));
      api.put("/v1/schedules/tick", Map.of("type", "tick", "every", "1s", "target", discard()));
      new Database(from).execute("SELECT carillon.grant_enqueue('shop_app')");
      awaitCompleted(api, done);
    }
    assertThat(first.stop()).isZero();

    String dump = directory.resolve("carillon.dump").toString();
    packaged.run("pg_dump", "-n", "carillon", "-Fc", "-f", dump, Servers.url(from));
    packaged.run("pg_restore", "--exit-on-error", "-d", Servers.url(to), dump);

    try (Carillon api = servers.startOn(to).connect();
        SqlUser app = SqlUser.as("shop_app", to)) {
      assertThat(status(api, done)).isEqualTo("COMPLETED");
      assertThat(status(api, waiting)).isEqualTo("PENDING");
      api.post("/v1/tasks/" + waiting + "/run", null);
      awaitCompleted(api, waiting);
      awaitCompleted(api, create(api, Map.of("type", "new", "target", discard())));
      app.enqueue("'pulled', key => 'k'");
      long ticks = completed(to, "tick");
      await().atMost(TIMEOUT).until(() -> completed(to, "tick") > ticks);
    }
  }

  /** Restores into a database of another role, as after a move to another provider. */
  @Test
  void a_dump_can_be_restored_by_another_owner() {
    packaged.sqlAsSuperuser(
        "CREATE DATABASE moved OWNER carillon", "CREATE DATABASE elsewhere OWNER someone");
    Db.Address from = packaged.address("moved", "carillon");
    Db.Address to = packaged.address("elsewhere", "someone");
    migrate(from);

    String dump = directory.resolve("moved.dump").toString();
    packaged.run("pg_dump", "-n", "carillon", "-Fc", "-f", dump, Servers.url(from));
    packaged.run(
        "pg_restore", "--exit-on-error", "--no-owner", "--no-acl", "-d", Servers.url(to), dump);

    try (Carillon api = servers.startOn(to).connect()) {
      awaitCompleted(api, create(api, Map.of("type", "new", "target", discard())));
    }
  }

  /** Exercises the main features; returns the version of PostgreSQL. */
  private String assertAllFeaturesWork(Db.Address address) throws SQLException {
    Database database = new Database(address);
    assertThat(
            database.column(
                "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
                    + " FROM pg_roles WHERE rolname = current_user"))
        .isEqualTo(List.of("f"));
    ServerProcess first = servers.startOn(address);
    assertThat(first.errors())
        .contains(
            "database connections max=21 api=6 engine=8 catalog=2 heartbeat=1 cluster=2 hints=2");
    String version;
    String later;
    try (Receiver receiver = Receiver.start();
        Carillon api = first.connect();
        SqlUser owner = SqlUser.owner(address)) {
      api.put(
          "/v1/schedules/tick", Map.of("type", "tick", "cron", "* * * * * *", "target", discard()));
      api.put("/v1/types/sql", Map.of("target", discard()));
      String sent = create(api, Map.of("type", "sent", "target", http(receiver)));
      String cancelled = create(api, Map.of("type", "c", "delay", "1h", "target", discard()));
      later = create(api, Map.of("type", "later", "delay", "1h", "target", discard()));
      owner.begin();
      String enqueued = owner.enqueue("'sql', key => 'k'");
      owner.enqueue("'new-type'");
      owner.commit();

      assertThat(api.post("/v1/tasks/" + cancelled + "/cancel", null).path("status").asString())
          .isEqualTo("CANCELLED");
      awaitCompleted(api, sent);
      awaitCompleted(api, enqueued);
      assertThat(receiver.byTask()).containsOnlyKeys(sent);
      await().atMost(TIMEOUT).until(() -> completed(address, "tick") >= 2);
      assertThat(
              database.count(
                  "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'carillon/%'"
                      + " AND datname = current_database()"))
          .isBetween(6L, 21L);
      version = api.get("/v1/cluster").path("database").path("version").asString();
    }
    assertThat(first.stop()).isZero();

    long ticks = completed(address, "tick");
    try (Carillon api = servers.startOn(address).connect()) {
      assertThat(status(api, later)).isEqualTo("PENDING");
      api.post("/v1/tasks/" + later + "/run", null);
      awaitCompleted(api, later);
      await().atMost(TIMEOUT).until(() -> completed(address, "tick") > ticks);
    }
    return version;
  }

  private static Map<String, Object> discard() {
    return Map.of("discard", Map.of());
  }

  private static Map<String, Object> http(Receiver receiver) {
    return Map.of("http", Map.of("url", receiver.url("/")));
  }

  private static String create(Carillon api, Map<String, Object> task) {
    return api.post("/v1/tasks", task).path("id").asString();
  }

  private static String status(Carillon api, String task) {
    return api.get("/v1/tasks/" + task).path("status").asString();
  }

  private static void awaitCompleted(Carillon api, String task) {
    await().atMost(TIMEOUT).until(() -> status(api, task).equals("COMPLETED"));
  }

  private static long completed(Db.Address address, String type) {
    return new Database(address)
        .count(
            "SELECT count(*) FROM carillon.task t JOIN carillon.lane l ON l.id = t.lane"
                + " WHERE t.state = 'COMPLETED' AND l.type = '"
                + type
                + "'");
  }
}
