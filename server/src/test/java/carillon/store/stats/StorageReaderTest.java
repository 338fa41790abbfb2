package carillon.store.stats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class StorageReaderTest {

  @Test
  void only_transactions_of_this_database_count_as_snapshots() throws SQLException {
    try (World world = World.create();
        World other = World.create();
        Db monitor = Db.open(monitor(world), "monitor", 1)) {
      StorageReader reader = new StorageReader(monitor);
      try (Connection open = begun(other)) {
        assertThat(open.isValid(1)).isTrue();
        // Connections of our own pool may have a snapshot for a moment.
        await().until(() -> Duration.ZERO.equals(reader.read().oldestSnapshot()));
      }
      try (Connection open = begun(world)) {
        assertThat(open.isValid(1)).isTrue();
        assertThat(reader.read().oldestSnapshot()).isPositive();
      }
    }
  }

  @Test
  void an_ordinary_role_sees_everything_except_other_transactions() throws SQLException {
    try (World world = World.create();
        Connection open = begun(world)) {
      assertThat(open.isValid(1)).isTrue();
      assertThat(new StorageReader(world.db).read().oldestSnapshot()).isNull();
    }
  }

  /** A role that can see all sessions, created as docs/operations.md describes. */
  private static Db.Address monitor(World world) {
    String role = "monitor_" + world.address.url().replaceAll(".*/", "");
    world.sqlAsSuperuser("CREATE ROLE " + role + " LOGIN");
    world.sqlAsSuperuser("GRANT pg_read_all_stats TO " + role);
    world.sql("GRANT USAGE ON SCHEMA carillon TO " + role);
    world.sql("GRANT SELECT ON ALL TABLES IN SCHEMA carillon TO " + role);
    return new Db.Address(world.address.url(), role, "any");
  }

  /** An open transaction that has written something. */
  private static Connection begun(World world) throws SQLException {
    Connection connection = Postgres.connect(world.address);
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT pg_current_xact_id()");
    }
    return connection;
  }
}
