package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class StorageReaderTest {

  @Test
  void only_transactions_of_this_database_keep_its_dead_rows() throws SQLException {
    try (World world = World.create();
        World other = World.create()) {
      StorageReader reader = new StorageReader(world.db);
      try (Connection open = begun(other)) {
        assertThat(open.isValid(1)).isTrue();
        // Our own pool's connections may just be looking something up: for a moment.
        await().until(() -> Duration.ZERO.equals(reader.read().oldestSnapshot()));
      }
      try (Connection open = begun(world)) {
        assertThat(open.isValid(1)).isTrue();
        assertThat(reader.read().oldestSnapshot()).isPositive();
      }
    }
  }

  /** A transaction that has written something, and does not end. */
  private static Connection begun(World world) throws SQLException {
    Connection connection = Postgres.connect(world.address);
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      statement.execute("SELECT pg_current_xact_id()");
    }
    return connection;
  }
}
