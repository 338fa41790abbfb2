package carillon.app.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.app.ChildProcess;
import carillon.app.config.PrivateFiles;
import carillon.cli.CommandFailed;
import carillon.store.db.Migrations;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class EmbeddedPostgresTest {

  /** Unpacked once for all tests. */
  private static final Path BINARIES = Path.of("target", "postgres-bin").toAbsolutePath();

  /** A new database, which each test copies: creating one takes half a second. */
  @TempDir static Path template;

  @TempDir Path directory;

  @BeforeAll
  static void createTemplate() {
    EmbeddedPostgres.start(template, BINARIES).close();
  }

  @BeforeEach
  void copyTemplate() throws IOException {
    try (Stream<Path> paths = Files.walk(template)) {
      for (Path path : paths.skip(1).toList()) {
        Files.copy(
            path, directory.resolve(template.relativize(path)), StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
  }

  /** A program that starts a database and waits until the test kills it. */
  static final class Victim {
    public static void main(String[] args) throws IOException {
      EmbeddedPostgres postgres = EmbeddedPostgres.start(Path.of(args[0]), Path.of(args[1]));
      System.out.println("url " + postgres.jdbcUrl());
      System.in.read();
    }
  }

  private EmbeddedPostgres start() {
    return EmbeddedPostgres.start(directory, BINARIES);
  }

  private static String query(EmbeddedPostgres postgres, String sql) throws SQLException {
    return query(postgres.jdbcUrl(), postgres.password(), sql);
  }

  private static String query(String url, String password, String sql) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url, "carillon", password);
        Statement statement = connection.createStatement()) {
      if (!statement.execute(sql)) {
        return "";
      }
      try (ResultSet result = statement.getResultSet()) {
        return result.next() ? result.getString(1) : "";
      }
    }
  }

  @Test
  void data_survives_a_restart() throws SQLException {
    try (EmbeddedPostgres postgres = start()) {
      query(postgres, "CREATE TABLE kept AS SELECT 42 AS answer");
    }

    try (EmbeddedPostgres postgres = start()) {
      assertThat(query(postgres, "SELECT answer FROM kept")).isEqualTo("42");
    }
  }

  @Test
  void the_server_is_durable_and_listens_on_loopback_only() throws IOException, SQLException {
    try (EmbeddedPostgres postgres = start()) {
      for (String setting :
          List.of("fsync", "synchronous_commit", "full_page_writes", "data_checksums")) {
        assertThat(query(postgres, "SHOW " + setting)).as(setting).isEqualTo("on");
      }
      assertThat(query(postgres, "SHOW listen_addresses")).isEqualTo("127.0.0.1");
      assertThat(Files.readString(directory.resolve("postgres/postgresql.conf")))
          .contains("unix_socket_directories = ''");
      assertThat(query(postgres, "SHOW server_encoding")).isEqualTo("UTF8");
      assertThat(query(postgres, "SHOW timezone"))
          .isEqualTo("Australia/Lord_Howe"); // the driver sends the client's time zone
      assertThat(query(postgres, "SELECT reset_val FROM pg_settings WHERE name = 'log_timezone'"))
          .isEqualTo("UTC");
    }
  }

  @Test
  void the_lock_table_has_room_for_all_partitions() throws IOException, SQLException {
    try (EmbeddedPostgres postgres = start()) {
      assertThat(query(postgres, "SHOW max_locks_per_transaction")).isEqualTo("256");
    }
  }

  @Test
  void connections_need_a_password_that_only_its_owner_can_read() throws IOException {
    try (EmbeddedPostgres postgres = start()) {
      assertThatThrownBy(() -> query(postgres.jdbcUrl(), "wrong", "SELECT 1"))
          .isInstanceOf(SQLException.class)
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("28P01");
    }
    assertThat(
            PosixFilePermissions.toString(
                Files.getPosixFilePermissions(directory.resolve("postgres-password"))))
        .isEqualTo("rw-------");
  }

  @Test
  void the_server_connects_as_an_owner_without_superuser_rights() throws Exception {
    try (EmbeddedPostgres postgres = start()) {
      assertThat(
              query(
                  postgres,
                  "SELECT format('%s %s %s %s %s', rolsuper, rolcreaterole, rolcreatedb,"
                      + " rolreplication, rolbypassrls) FROM pg_roles WHERE rolname ="
                      + " current_user"))
          .isEqualTo("f f f f f");
      assertThat(
              query(
                  postgres,
                  "SELECT pg_get_userbyid(datdba) FROM pg_database"
                      + " WHERE datname = current_database()"))
          .isEqualTo("carillon");
      assertThatThrownBy(() -> query(postgres, "COPY (SELECT 1) TO PROGRAM 'true'"))
          .hasMessageContaining("permission denied");
    }
  }

  @Test
  void the_superuser_needs_a_password_that_only_the_files_owner_can_read() throws Exception {
    Path file = directory.resolve("postgres-superuser-password");
    try (EmbeddedPostgres postgres = start()) {
      for (String guess : List.of("", "postgres", postgres.password())) {
        assertThatThrownBy(
                () -> DriverManager.getConnection(postgres.jdbcUrl(), "postgres", guess).close())
            .as("with the password '%s'", guess)
            .isInstanceOf(SQLException.class);
      }
      DriverManager.getConnection(postgres.jdbcUrl(), "postgres", Files.readString(file).strip())
          .close();
      assertThat(
              query(
                  postgres,
                  "SELECT string_agg(rolname, ' ') FROM pg_roles WHERE rolsuper AND rolcanlogin"))
          .isEqualTo("postgres");
    }
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
  }

  @Test
  void a_partly_created_role_is_completed_at_the_next_start() throws Exception {
    try (EmbeddedPostgres postgres = start()) {
      String secret = Files.readString(directory.resolve("postgres-superuser-password")).strip();
      try (Connection superuser =
              DriverManager.getConnection(postgres.jdbcUrl(), "postgres", secret);
          Statement statement = superuser.createStatement()) {
        statement.execute("ALTER DATABASE postgres OWNER TO postgres");
        statement.execute("REVOKE pg_read_all_stats FROM carillon");
      }
    }
    Files.delete(directory.resolve("postgres/carillon-role"));

    for (int start = 1; start <= 2; start++) {
      try (EmbeddedPostgres postgres = start()) {
        assertThat(
                query(
                    postgres,
                    "SELECT pg_get_userbyid(datdba) FROM pg_database"
                        + " WHERE datname = current_database()"))
            .isEqualTo("carillon");
        assertThat(query(postgres, "SELECT pg_has_role('pg_read_all_stats', 'USAGE')"))
            .isEqualTo("t");
        assertThat(directory.resolve("postgres/carillon-role")).exists();
      }
    }
  }

  @Test
  void the_role_can_migrate_the_schema_forward_and_back() throws SQLException {
    try (EmbeddedPostgres postgres = start()) {
      Migrations schema = Migrations.open(postgres.jdbcUrl(), postgres.user(), postgres.password());
      schema.apply(OptionalInt.empty());
      query(postgres, "SELECT carillon.create_partition('2030-01-01')");

      schema.apply(OptionalInt.of(0));
      schema.apply(OptionalInt.empty());

      assertThat(schema.current()).isEqualTo(schema.latest());
    }
  }

  @Test
  void closing_stops_the_server() throws IOException {
    EmbeddedPostgres postgres = start();
    long pid =
        Long.parseLong(Files.readAllLines(directory.resolve("postgres/postmaster.pid")).getFirst());

    postgres.close();

    assertThat(directory.resolve("postgres/postmaster.pid")).doesNotExist();
    await().until(() -> ProcessHandle.of(pid).filter(ProcessHandle::isAlive).isEmpty());
  }

  @Test
  void closing_ends_sessions_that_are_still_open() throws SQLException {
    EmbeddedPostgres postgres = start();
    try (Connection connection =
        DriverManager.getConnection(postgres.jdbcUrl(), postgres.user(), postgres.password())) {

      postgres.close();

      assertThat(connection.isValid(1)).isFalse();
    }
  }

  @Test
  void a_server_left_by_a_killed_process_is_stopped_even_without_its_binaries() throws Exception {
    Path binaries = directory.resolve("own-binaries");
    try (ChildProcess victim =
        ChildProcess.start(Victim.class, directory, directory.toString(), binaries.toString())) {
      String url = victim.awaitLine("url ").substring("url ".length());
      String password = Files.readString(directory.resolve("postgres-password")).strip();
      query(url, password, "CREATE TABLE kept AS SELECT 42 AS answer");
      victim.kill();
      assertThat(query(url, password, "SELECT answer FROM kept"))
          .as("the server outlives the program")
          .isEqualTo("42");
      PrivateFiles.deleteTree(binaries);

      try (EmbeddedPostgres postgres = EmbeddedPostgres.start(directory, binaries)) {
        assertThat(query(postgres, "SELECT answer FROM kept")).isEqualTo("42");
        assertThat(postgres.jdbcUrl()).isNotEqualTo(url);
      }
      assertThatThrownBy(() -> query(url, password, "SELECT 1")).isInstanceOf(SQLException.class);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ourselves", "nobody", "no number"})
  void a_stale_pid_file_does_not_prevent_a_start(String owner) throws Exception {
    String pid =
        switch (owner) {
          case "ourselves" -> Long.toString(ProcessHandle.current().pid());
          case "nobody" -> "2147483646";
          default -> "x";
        };
    Files.writeString(
        directory.resolve("postgres/postmaster.pid"),
        pid
            + "\n"
            + directory.resolve("postgres")
            + "\n1794736169\n54777\n\n127.0.0.1\n  2154659         8\nready   \n");

    try (EmbeddedPostgres postgres = start()) {
      assertThat(query(postgres, "SELECT 42")).isEqualTo("42");
    }
  }

  @Test
  void a_partly_created_database_is_created_again() throws Exception {
    PrivateFiles.deleteTree(directory.resolve("postgres"));
    Files.createDirectories(directory.resolve("postgres.new/base"));
    Files.writeString(directory.resolve("postgres.new/PG_VERSION"), "18\n");

    try (EmbeddedPostgres postgres = start()) {
      assertThat(query(postgres, "SELECT 42")).isEqualTo("42");
    }
    assertThat(directory.resolve("postgres.new")).doesNotExist();
  }

  @Test
  void a_second_program_in_the_same_directory_is_rejected() throws Exception {
    try (EmbeddedPostgres postgres = start();
        ChildProcess second =
            ChildProcess.start(
                Victim.class, directory, directory.toString(), BINARIES.toString())) {
      assertThat(second.status()).isNotZero();
      assertThatThrownBy(this::start)
          .isInstanceOf(CommandFailed.class)
          .hasMessageContaining("is in use by another carillon");
      assertThat(query(postgres, "SELECT 42")).isEqualTo("42");
    }
    start().close();
  }

  @Test
  void a_database_of_another_version_is_rejected_in_one_line() throws IOException {
    Files.writeString(directory.resolve("postgres/PG_VERSION"), "9\n");

    assertThatThrownBy(this::start)
        .isInstanceOf(CommandFailed.class)
        .hasMessageContaining("cannot start: database files are incompatible with server")
        .message()
        .doesNotContain("\n");
  }

  @Test
  void a_killed_server_restarts_on_the_same_port() throws Exception {
    try (EmbeddedPostgres postgres = start()) {
      query(postgres, "CREATE TABLE kept (n int)");
      String url = postgres.jdbcUrl();
      assertThat(postgres.revive()).isFalse();
      long pid =
          Long.parseLong(
              Files.readAllLines(directory.resolve("postgres/postmaster.pid")).getFirst().strip());
      ProcessHandle server = ProcessHandle.of(pid).orElseThrow();
      server.destroyForcibly();
      server.onExit().get();

      // Retried like in the node's loop: a start fails while processes of the dead server exit.
      await().until(postgres::revive);

      assertThat(postgres.jdbcUrl()).isEqualTo(url);
      assertThat(query(postgres, "SELECT count(*) FROM kept")).isEqualTo("0");
    }
  }
}
