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

/** A pool whose server goes down, comes back, or becomes a standby. */
@Tag("slow")
class ReconnectTest {

  private static final String WRITE =
      """
      /* ReconnectTest.write */
      UPDATE carillon.catalog SET version = version
      """;

  @TempDir Path directory;

  @Test
  void a_connection_that_turns_out_read_only_is_given_up() throws SQLException {
    Db.Address address = Postgres.freshDatabase();
    String name = address.url().substring(address.url().lastIndexOf('/') + 1);
    try (Connection beside = Postgres.connect(address);
        Statement statement = beside.createStatement();
        Db db = Db.open(address, "test", 2)) {
      statement.execute("ALTER DATABASE " + name + " SET default_transaction_read_only = on");
      assertThatThrownBy(() -> write(db))
          .isInstanceOfSatisfying(
              StoreException.class, e -> assertThat(e.isUnavailable()).isTrue());

      // The connections that exist would stay as they are for half an hour.
      statement.execute("SET default_transaction_read_only = off");
      statement.execute("ALTER DATABASE " + name + " RESET default_transaction_read_only");

      assertThat(write(db)).isEqualTo(1);
    }
  }

  @Test
  void a_pool_reconnects_soon_however_long_the_server_was_unreachable() throws SQLException {
    try (OwnPostgres postgres = new OwnPostgres(directory);
        Db db = Db.open(postgres.address(), "test", 2)) {
      write(db);
      postgres.stop(OwnPostgres.Stop.IMMEDIATE);
      for (int i = 0; i < 2; i++) { // 6 s, in which a pool's own pauses would have grown
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
