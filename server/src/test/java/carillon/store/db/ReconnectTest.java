package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.testkit.OwnPostgres;
import carillon.testkit.Postgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool recovers after its server restarts or becomes read-only. */
@Tag("slow")
class ReconnectTest {

  private static final String WRITE =
      """
      /* ReconnectTest.write */
      UPDATE carillon.catalog SET version = version
      """;

  @TempDir Path directory;

  @Test
  void a_connection_that_is_read_only_is_replaced() throws SQLException {
    Db.Address address = Postgres.freshDatabase();
    String name = address.url().substring(address.url().lastIndexOf('/') + 1);
    try (Connection other = Postgres.connect(address);
        Statement statement = other.createStatement();
        Db db = Db.open(address, "test", 2)) {
      statement.execute("ALTER DATABASE " + name + " SET default_transaction_read_only = on");
      assertThatThrownBy(() -> write(db))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.isUnavailable()).isTrue());

      // Existing connections would otherwise stay read-only for half an hour.
      statement.execute("SET default_transaction_read_only = off");
      statement.execute("ALTER DATABASE " + name + " RESET default_transaction_read_only");

      assertThat(write(db)).isEqualTo(1);
    }
  }

  @Test
  void a_pool_reconnects_quickly_however_long_the_outage_was() throws SQLException {
    try (OwnPostgres postgres = new OwnPostgres(directory);
        Db db = Db.open(postgres.address(), "test", 2)) {
      write(db);
      postgres.stop(OwnPostgres.Stop.IMMEDIATE);
      for (int i = 0; i < 2; i++) { // 6 s; the pool's own retry pauses would have grown by then
        assertThatThrownBy(() -> write(db))
            .isInstanceOfSatisfying(
                StoreException.class, e -> assertThat(e.isUnavailable()).isTrue());
      }
      postgres.start();

      long start = System.nanoTime();
      write(db);

      Duration took = Duration.ofNanos(System.nanoTime() - start);
      System.out.printf("reconnect: %d ms after the server was up%n", took.toMillis());
      assertThat(took).isLessThan(Duration.ofSeconds(5));
    }
  }

  private static int write(Db db) {
    return db.inTransaction(tx -> tx.update(WRITE));
  }
}
