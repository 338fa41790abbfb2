package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.PgBouncer;
import carillon.testkit.Postgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transactions through PgBouncer have the usual settings and leave no session state behind. */
class PoolerTest {

  private static final int SESSIONS = 2;

  /** The settings that differ from the built-in defaults, as a transaction sees them. */
  private static final String SETTINGS =
      """
      /* PoolerTest.settings */
      SELECT name || '=' || setting AS setting
      FROM pg_settings
      WHERE setting IS DISTINCT FROM boot_val
        AND name <> 'application_name'
      ORDER BY name
      """;

  @TempDir Path directory;

  @Test
  void settings_of_a_transaction_do_not_leak_to_the_next_one() throws SQLException {
    Db.Address server = Postgres.freshDatabase();
    try (PgBouncer pooler = PgBouncer.start(directory, server, SESSIONS);
        Db direct = Db.open(server, "direct", 1);
        Db pooled = Db.open(pooler.address(), "pooled", 2)) {
      List<String> before = inEverySession(pooler, SETTINGS);
      List<String> expected = settings(direct);

      assertThat(expected).contains("enable_seqscan=off", "lock_timeout=2000");
      for (int i = 0; i < 10; i++) { // enough for a server-side prepared statement, if enabled
        assertThat(settings(pooled)).isEqualTo(expected);
      }

      assertThat(inEverySession(pooler, SETTINGS)).isEqualTo(before);
      assertThat(inEverySession(pooler, "SELECT statement FROM pg_prepared_statements")).isEmpty();
    }
  }

  @Test
  void migrations_work_through_a_pooler_and_leave_no_session_state() throws SQLException {
    Db.Address server = Postgres.emptyDatabase();
    try (PgBouncer pooler = PgBouncer.start(directory, server, SESSIONS)) {
      List<String> before = inEverySession(pooler, SETTINGS);
      Migrations migrations = Migrations.open(pooler.address());

      migrations.apply(OptionalInt.empty());
      assertThat(migrations.current()).isEqualTo(migrations.latest());
      migrations.apply(OptionalInt.of(0));
      assertThat(migrations.current()).isZero();
      migrations.apply(OptionalInt.empty());

      assertThat(migrations.current()).isEqualTo(migrations.latest());
      assertThat(inEverySession(pooler, SETTINGS)).isEqualTo(before);
      assertThat(DatabaseCheck.refusal(pooler.address())).isEmpty();
    }
  }

  private static List<String> settings(Db db) {
    return db.inTransaction(tx -> tx.query(SETTINGS, row -> row.getString("setting")));
  }

  /** Runs the query in one open transaction per session, so that every session is used. */
  private static List<String> inEverySession(PgBouncer pooler, String query) throws SQLException {
    List<Connection> connections = new ArrayList<>();
    List<String> results = new ArrayList<>();
    try {
      for (int i = 0; i < SESSIONS; i++) {
        Connection connection =
            Postgres.connect(
                new Db.Address(
                    pooler.address().url() + "?prepareThreshold=0",
                    pooler.address().user(),
                    pooler.address().password()));
        connections.add(connection);
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement();
            ResultSet rows = statement.executeQuery(query)) {
          while (rows.next()) {
            results.add(rows.getString(1));
          }
        }
      }
      return results;
    } finally {
      for (Connection connection : connections) {
        connection.close();
      }
    }
  }
}
