package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.client.Carillon;
import carillon.client.CarillonException;
import carillon.testkit.OwnPostgres;
import carillon.testkit.Receiver;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import carillon.testkit.Standby;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Kills a primary and promotes its standby, with both hosts in the URL. A synchronous standby loses
 * nothing. An asynchronous standby does, and the second test must detect that: otherwise the first
 * test would prove nothing.
 */
class FailoverTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @RegisterExtension final Servers servers = new Servers();
  @TempDir Path first;
  @TempDir Path second;

  @Test
  void a_failover_to_a_synchronous_standby_loses_no_accepted_task() {
    try (OwnPostgres primary = new OwnPostgres(first);
        Standby standby = Standby.of(primary, second, Standby.Mode.SYNCHRONOUS);
        Receiver receiver = Receiver.start()) {
      ServerProcess server = servers.startOn(standby.bothHosts());
      try (Carillon api = server.connect()) {
        configure(api, receiver);
        assertCancelledReplicationWaitIsNotAccepted(api, primary, standby);
        Database promoted = new Database(standby.address());
        Producer producer = Producer.start(api, "failover", 16);
        try (producer) {
          await()
              .atMost(TIMEOUT)
              .until(() -> producer.acceptedInTheSecondBefore(System.nanoTime()) >= 100);

          primary.kill9();
          long killed = System.nanoTime();
          standby.promote();
          long up = System.nanoTime();

          int delivered = receiver.count();
          await().atMost(TIMEOUT).until(() -> receiver.count() > delivered);
          System.out.printf(
              "failover: promoted %d ms after the kill, first delivery %d ms later%n",
              (up - killed) / 1_000_000, (System.nanoTime() - up) / 1_000_000);
          assertThat(System.nanoTime() - up).isLessThan(Duration.ofSeconds(5).toNanos());
          await().atMost(TIMEOUT).until(() -> producer.acceptedSince(up).size() >= 100);
        }

        await().atMost(TIMEOUT).until(() -> promoted.unfinished() == 0);
        assertThat(lost(producer.accepted(), promoted)).as("accepted and lost").isEmpty();
        assertEndedOnce(promoted);
        assertThat(server.isAlive()).isTrue();
        assertThat(server.metric("carillon_database_timeline")).isEqualTo(2);
        assertThat(server.errors()).contains("database timeline changed timeline=2 before=1");
        server.kill9(); // a normal stop would wait for the database
      }
    }
  }

  /**
   * If an operator cancels the wait for the standby, the API must not report the task as accepted.
   */
  private static void assertCancelledReplicationWaitIsNotAccepted(
      Carillon api, OwnPostgres primary, Standby standby) {
    Database database = new Database(primary.address());
    assertThat(statusOf(api)).as("while the standby receives").isEqualTo(202);
    standby.stopReceiving();
    try {
      CompletableFuture<Integer> status = CompletableFuture.supplyAsync(() -> statusOf(api));
      await()
          .atMost(TIMEOUT)
          .until(
              () ->
                  database.count(
                          "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                              + " WHERE wait_event = 'SyncRep' AND application_name ="
                              + " 'carillon/api'")
                      > 0);
      assertThat(status.join()).isEqualTo(503);
    } finally {
      standby.resumeReceiving();
    }
  }

  private static int statusOf(Carillon api) {
    try {
      api.post("/v1/tasks", Map.of("type", "failover"));
      return 202;
    } catch (CarillonException e) {
      return e.status();
    }
  }

  @Test
  void a_failover_to_an_asynchronous_standby_loses_only_the_transactions_it_had_not_received() {
    try (OwnPostgres primary = new OwnPostgres(first);
        Standby standby = Standby.of(primary, second, Standby.Mode.ASYNCHRONOUS);
        Receiver receiver = Receiver.start()) {
      // The lease outlives the test, so that only the failover can lose a claim.
      ServerProcess server = servers.startOn(standby.bothHosts(), "--node-lease", "60s");
      try (Carillon api = server.connect()) {
        configure(api, receiver);
        Database promoted = new Database(standby.address());
        String zombie =
            api.post("/v1/tasks", Map.of("type", "failover", "delay", "3s")).path("id").asString();
        await().atMost(TIMEOUT).until(() -> promoted.unfinished() == 1);
        standby.cutOff();
        long behind = System.nanoTime();
        // Claimed and sent before the primary is lost; the standby never learns of this claim.
        CountDownLatch firstResponse = new CountDownLatch(1);
        receiver.respondWith(delivery -> respond(delivery, zombie, firstResponse, 500));
        await().atMost(TIMEOUT).until(() -> receiver.byTask().containsKey(zombie));
        Producer producer = Producer.start(api, "failover", 16);
        try (producer) {
          await().atMost(TIMEOUT).until(() -> producer.acceptedSince(behind).size() >= 100);
          primary.kill9();
        }
        CountDownLatch secondResponse = new CountDownLatch(1);
        receiver.respondWith(delivery -> respond(delivery, zombie, secondResponse, 200));
        standby.promote();

        await().atMost(TIMEOUT).until(() -> deliveries(receiver, zombie).size() == 2);
        firstResponse.countDown(); // the outcome of the lost claim, with the same fence
        await().atMost(TIMEOUT).until(() -> server.metric("carillon_completer_fenced_total") >= 1);
        assertThat(deliveries(receiver, zombie))
            .extracting(Receiver.Delivery::fence)
            .containsExactly(1, 1);
        assertThat(api.get("/v1/tasks/" + zombie).path("status").asString()).isEqualTo("RUNNING");
        secondResponse.countDown();

        String next = api.post("/v1/tasks", Map.of("type", "failover")).path("id").asString();
        await().atMost(TIMEOUT).until(() -> promoted.unfinished() == 0);
        Set<String> lost = lost(producer.accepted(), promoted);
        System.out.printf(
            "asynchronous failover: %d of %d accepted tasks lost%n",
            lost.size(), producer.accepted().size());
        assertThat(lost).as("accepted and lost").isNotEmpty();
        assertThat(lost(Set.of(zombie, next), promoted)).isEmpty();
        assertThat(api.get("/v1/tasks/" + zombie).path("attempt").asInt())
            .as("attempts, without that of the lost claim")
            .isEqualTo(1);
        assertEndedOnce(promoted);
        assertThat(server.isAlive()).isTrue();
        server.kill9();
      }
    }
  }

  private static int respond(
      Receiver.Delivery delivery, String held, CountDownLatch until, int status)
      throws InterruptedException {
    if (!delivery.task().equals(held)) {
      return 200;
    }
    until.await();
    return status;
  }

  private static List<Receiver.Delivery> deliveries(Receiver receiver, String task) {
    return receiver.deliveries().stream().filter(each -> each.task().equals(task)).toList();
  }

  private static void configure(Carillon api, Receiver receiver) {
    api.put(
        "/v1/types/failover", Map.of("target", Map.of("http", Map.of("url", receiver.url("/")))));
  }

  private static Set<String> lost(Set<String> accepted, Database database) {
    Set<String> lost = new HashSet<>(accepted);
    lost.removeAll(
        new HashSet<>(database.column("SELECT id FROM carillon.task WHERE state = 'COMPLETED'")));
    return lost;
  }

  private static void assertEndedOnce(Database database) {
    assertThat(
            database.column(
                "SELECT task FROM carillon.every_transition WHERE to_state = 'COMPLETED'"))
        .doesNotHaveDuplicates();
    assertThat(
            database.column(
                "SELECT task || ' ' || fence FROM carillon.every_transition"
                    + " WHERE to_state = 'RUNNING'"))
        .as("claims")
        .doesNotHaveDuplicates();
    database.assertConsistent();
  }
}
