package carillon.store.db;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class ConnectionSourceTest {

  private static Db.Address at(String hosts) {
    return new Db.Address("jdbc:postgresql://" + hosts + "/carillon", "nobody", null);
  }

  /** A port without a listener. */
  private static String closedPort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return "127.0.0.1:" + socket.getLocalPort();
    }
  }

  @Test
  void stopping_a_source_ends_its_retries_without_an_interrupt() throws IOException {
    ConnectionSource source =
        ConnectionSource.of(at(closedPort()), Duration.ofSeconds(1)).persisting();
    AtomicReference<Throwable> outcome = new AtomicReference<>();
    Thread connecting =
        Thread.startVirtualThread(
            () -> {
              try (Connection connection = source.getConnection()) {
                outcome.set(new AssertionError("connected: " + connection));
              } catch (SQLException e) {
                outcome.set(e);
              }
            });
    await().until(() -> source.failure() != null);
    assertThat(connecting.isAlive()).isTrue();

    source.stop();

    await().atMost(Duration.ofSeconds(5)).until(() -> outcome.get() instanceof SQLException);
  }

  @Test
  void a_pool_closes_quickly_even_if_its_database_is_unreachable() throws IOException {
    Db db = Db.open(at(closedPort()), "test", 2);
    CompletableFuture<Void> query =
        CompletableFuture.runAsync(() -> db.inTransaction(tx -> tx.query("SELECT 1", _ -> true)));
    await().until(() -> db.stats().pending() == 1);
    long start = System.nanoTime();

    db.close();

    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
    assertThat(query).failsWithin(Duration.ofSeconds(10));
  }

  @Test
  void the_login_timeout_is_not_shared_by_several_hosts() {
    ConnectionSource one = ConnectionSource.of(at("db1"), Duration.ofSeconds(7));
    ConnectionSource two = ConnectionSource.of(at("db1,db2"), Duration.ofSeconds(7));

    one.setLoginTimeout(3);
    two.setLoginTimeout(3);

    assertThat(one.getLoginTimeout()).isEqualTo(3);
    assertThat(two.getLoginTimeout()).as("disabled, because each host has its own").isZero();
  }
}
