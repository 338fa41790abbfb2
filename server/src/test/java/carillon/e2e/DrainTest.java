package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import tools.jackson.databind.JsonNode;

/** Stops the program while deliveries are in flight. */
class DrainTest {

  private static final int BACKLOG = 5_000;
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);

  @Test
  void deliveries_that_outlast_the_drain_timeout_are_released_without_counting_an_attempt() {
    ServerProcess server = servers.startOn(address, "--drain-timeout", "2s");
    try (Receiver receiver = Receiver.start()) {
      CountDownLatch soon = new CountDownLatch(1);
      CountDownLatch never = new CountDownLatch(1);
      receiver.respondWith(
          delivery -> {
            (delivery.path().equals("/soon") ? soon : never).await();
            return 200;
          });
      List<String> quick = create(server, receiver.url("/soon"), 5);
      List<String> slow = create(server, receiver.url("/never"), 5);
      await().atMost(TIMEOUT).until(() -> receiver.count() == 10);

      server.terminate();
      await().atMost(TIMEOUT).until(() -> server.errors().contains("stopping"));
      soon.countDown();

      assertThat(server.awaitExit()).isZero();
      assertThat(states(quick)).containsOnly("COMPLETED 1");
      assertThat(states(slow)).as("released").containsOnly("PENDING 0");
      assertThat(database.count("SELECT count(*) FROM carillon.claim")).isZero();
      assertThat(
              database.count(
                  "SELECT count(*) FROM carillon.node WHERE lease_until > clock_timestamp()"))
          .as("remaining node leases")
          .isZero();
      database.assertConsistent();

      receiver.respondWith(_ -> 200);
      servers.startOn(address);
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);
      assertThat(states(slow)).containsOnly("COMPLETED 1");
      assertThat(slow)
          .allSatisfy(
              task ->
                  assertThat(receiver.byTask().get(task))
                      .extracting(delivery -> delivery.attempt() + " by fence " + delivery.fence())
                      .containsExactly("1 by fence 1", "1 by fence 2"));
      never.countDown();
    }
  }

  @Test
  void a_stop_with_a_backlog_is_quick_and_repeats_no_delivery() {
    ServerProcess server = servers.startOn(address, "--concurrency", "50");
    try (Receiver receiver = Receiver.start()) {
      create(server, receiver.url("/"), BACKLOG);
      await().atMost(TIMEOUT).until(() -> receiver.count() >= 200);

      long before = System.nanoTime();
      assertThat(server.stop()).isZero();
      Duration took = Duration.ofNanos(System.nanoTime() - before);

      assertThat(took).as("time to stop").isLessThan(Duration.ofSeconds(8));
      Set<String> delivered = receiver.byTask().keySet();
      assertThat(receiver.count()).as("deliveries").isEqualTo(delivered.size());
      assertThat(database.column("SELECT id FROM carillon.task WHERE state = 'COMPLETED'"))
          .as("completed tasks")
          .hasSameElementsAs(delivered);
      assertThat(
              database.count(
                  "SELECT count(*) FROM carillon.every_task"
                      + " WHERE state = 'PENDING' AND attempt = 0"))
          .as("pending tasks without an attempt")
          .isEqualTo(BACKLOG - delivered.size())
          .isPositive();
      database.assertConsistent();
    }
  }

  private static List<String> create(ServerProcess server, String url, int count) {
    Map<String, Object> task =
        Map.of("type", "drain", "target", Map.of("http", Map.of("url", url)));
    try (Carillon api = server.connect()) {
      return api.post("/v1/tasks/batch", Map.of("tasks", Collections.nCopies(count, task)))
          .path("ids")
          .valueStream()
          .map(JsonNode::asString)
          .toList();
    }
  }

  private List<String> states(List<String> tasks) {
    return database.column(
        "SELECT state || ' ' || attempt FROM carillon.every_task WHERE id IN ('"
            + String.join("', '", tasks)
            + "')");
  }
}
