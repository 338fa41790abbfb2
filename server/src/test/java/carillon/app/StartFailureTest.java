package carillon.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.app.config.Config;
import carillon.app.config.ConfigLoader;
import carillon.store.db.StoreException;
import carillon.testkit.World;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StartFailureTest {

  /** Counts the sessions of the node's connection pools. */
  private static final String SESSIONS =
      """
      SELECT count(*)
      FROM pg_stat_activity
      WHERE datname = current_database()
        AND application_name IN ('carillon/api', 'carillon/engine', 'carillon/heartbeat', 'carillon/hints',
                                 'carillon/cluster')
      """;

  @TempDir Path directory;

  @Test
  void a_node_that_fails_in_its_last_start_step_leaves_nothing_open() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      port = free.getLocalPort();
    }
    try (World world = World.create()) {
      world.sql(
          "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
              + " $$ BEGIN RAISE EXCEPTION 'cannot begin'; END $$");
      world.sql(
          "CREATE TRIGGER refuse BEFORE UPDATE ON carillon.node FOR EACH ROW"
              + " WHEN (OLD.draining AND NOT NEW.draining) EXECUTE FUNCTION refuse()");
      String url =
          "%s?user=%s&password=%s"
              .formatted(world.address.url(), world.address.user(), world.address.password());
      Config config =
          new ConfigLoader(Map.of(), directory)
              .load(Map.of("port", Integer.toString(port), "database-url", url));

      assertThatThrownBy(() -> Wiring.start(config))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("cannot begin");

      assertThatThrownBy(() -> new Socket(InetAddress.ofLiteral("127.0.0.1"), port).close())
          .isInstanceOf(ConnectException.class);
      await().until(() -> world.value(SESSIONS).equals("0"));
      assertThat(threads()).doesNotContain("claimer", "completer", "reaper", "listener", "feed");
      assertThat(world.value("SELECT ending FROM carillon.node")).isEqualTo("LEFT");
    }
  }

  @Test
  void an_address_with_a_zone_has_a_url() {
    assertThat(new Config.Http("fe80::1%eth0", 0, 1).url(8080).getPort()).isEqualTo(8080);
  }

  private static List<String> threads() {
    return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).toList();
  }
}
