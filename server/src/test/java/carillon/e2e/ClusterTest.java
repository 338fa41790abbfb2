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
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Runs one API node and three engine nodes under load, with the default lease. The leader is killed
 * with deliveries in flight, then another node is stopped.
 */
class ClusterTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(40);
  private static final Duration DRAIN = Duration.ofSeconds(1);
  private static final int HELD = 90;

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);
  private final CountDownLatch released = new CountDownLatch(1);

  @Test
  void other_nodes_take_over_the_work_of_a_killed_or_stopped_node() {
    ServerProcess leader = engine("first");
    leader.awaitReady();
    ServerProcess second = engine("second");
    ServerProcess third = engine("third");
    ServerProcess front = servers.startOn(address, "--node-id", "front", "--roles", "api");
    second.awaitReady();
    third.awaitReady();
    try (Receiver receiver = Receiver.start();
        Carillon api = front.connect();
        ScheduledExecutorService load = Executors.newSingleThreadScheduledExecutor()) {
      prepare(api, receiver);
      await().atMost(TIMEOUT).until(() -> owners().size() == 3);
      assertThat(leaderName()).startsWith("first-");
      var _ =
          load.scheduleAtFixedRate(
              () -> create(api, 10, Map.of("type", "load")), 0, 100, TimeUnit.MILLISECONDS);
      await().atMost(TIMEOUT).until(() -> receiver.count() > 200);

      killTheLeader(leader, api, receiver);
      stopAnother(second, api, receiver);

      load.shutdown();
      released.countDown();
      assertFiresWithoutGaps();
      api.delete("/v1/schedules/tick");
      await().atMost(TIMEOUT).until(() -> database.unfinished() == 0);
      assertEachCompletedOnce();
    }
  }

  private ServerProcess engine(String name) {
    return servers.launchOn(
        address, "--node-id", name, "--roles", "engine", "--drain-timeout", DRAIN.toString());
  }

  private static void prepare(Carillon api, Receiver receiver) {
    for (String type : List.of("load", "held")) {
      api.put(
          "/v1/types/" + type,
          Map.of(
              "target",
              Map.of("http", Map.of("url", receiver.url("/" + type))),
              "slices",
              16,
              "retry",
              Map.of("base", "100ms", "backoff", "fixed", "jitter", "none")));
    }
    api.put(
        "/v1/schedules/tick",
        Map.of(
            "type", "tick",
            "every", "1s",
            "overlap", "allow",
            "target", Map.of("discard", Map.of())));
  }

  private static void create(Carillon api, int count, Map<String, Object> task) {
    api.post("/v1/tasks/batch", Map.of("tasks", Collections.nCopies(count, task)));
  }

  private List<String> owners() {
    return database.column("SELECT DISTINCT node FROM carillon.shard WHERE node IS NOT NULL");
  }

  private String leaderName() {
    return database.column("SELECT coalesce(node, '') FROM carillon.leadership").getFirst();
  }

  /** Creates tasks whose deliveries block on all nodes, and returns those that this node runs. */
  private Set<String> holdDeliveries(String node, Carillon api, Receiver receiver) {
    receiver.respondWith(
        delivery -> {
          if (delivery.path().equals("/held")) {
            released.await();
          }
          return 200;
        });
    long before = heldCount(receiver);
    // Due late enough for every node to know the lane: otherwise the other nodes take its share.
    create(api, HELD, Map.of("type", "held", "delay", "3s"));
    await().atMost(TIMEOUT).until(() -> heldCount(receiver) >= before + HELD);
    receiver.respondWith(_ -> 200); // for later deliveries
    List<String> held =
        database.column(
            "SELECT id FROM carillon.every_task WHERE state = 'RUNNING' AND id IN (SELECT"
                + " unnest(tasks) FROM carillon.claim WHERE node LIKE '"
                + node
                + "-%')");
    held.retainAll(
        receiver.deliveries().stream()
            .filter(delivery -> delivery.path().equals("/held"))
            .map(Receiver.Delivery::task)
            .toList());
    assertThat(held).as("tasks run by %s; all nodes: %s", node, byNode()).isNotEmpty();
    return new HashSet<>(held);
  }

  private List<String> byNode() {
    return database.column(
        """
        SELECT concat_ws(' ', node, 'runs', count(*), 'in lanes', array_agg(DISTINCT lane), 'shards', (
                   SELECT array_agg(id) FROM carillon.shard s WHERE s.node = c.node),
                   'waited', max(c.started_at - due_at))
        FROM carillon.claim c
        JOIN carillon.every_task t ON t.claim = c.id
        GROUP BY node
        """);
  }

  private static long heldCount(Receiver receiver) {
    return receiver.deliveries().stream()
        .filter(delivery -> delivery.path().equals("/held"))
        .map(Receiver.Delivery::task)
        .distinct()
        .count();
  }

  /** Waits until all tasks are delivered again; returns the time from {@code since} until then. */
  private static Duration awaitRedelivery(Set<String> tasks, Receiver receiver, long since) {
    await()
        .atMost(TIMEOUT)
        .pollInterval(Duration.ofMillis(50))
        .until(
            () ->
                receiver.byTask().entrySet().stream()
                    .filter(each -> tasks.contains(each.getKey()))
                    .allMatch(each -> each.getValue().size() > 1));
    long last =
        receiver.deliveries().stream()
            .filter(delivery -> tasks.contains(delivery.task()))
            .mapToLong(Receiver.Delivery::nanoTime)
            .max()
            .orElseThrow();
    return Duration.ofNanos(last - since);
  }

  private void killTheLeader(ServerProcess leader, Carillon api, Receiver receiver) {
    Set<String> held = holdDeliveries("first", api, receiver);
    String killedAt = database.column("SELECT clock_timestamp()").getFirst();
    long since = System.nanoTime();
    leader.kill9();

    await().atMost(TIMEOUT).until(() -> !leaderName().startsWith("first-"));
    String firstFire =
        "SELECT coalesce(extract(epoch FROM min(f.recorded_at) - '"
            + killedAt
            + "'), 0) FROM carillon.schedule_fire f, carillon.leadership l"
            + " WHERE f.recorded_at > l.since AND l.node NOT LIKE 'first-%'";
    await()
        .atMost(TIMEOUT)
        .until(() -> Double.parseDouble(database.column(firstFire).getFirst()) > 0);
    double newLeader = Double.parseDouble(database.column(firstFire).getFirst());
    Duration redelivered = awaitRedelivery(held, receiver, since);

    System.out.printf(
        "cluster: leader killed with %d deliveries in flight: the new leader plans after %.1f s,"
            + " all tasks are redelivered after %.1f s%n",
        held.size(), newLeader, redelivered.toNanos() / 1e9);
    assertThat(newLeader).as("seconds until a new leader acts").isLessThan(7);
    assertThat(redelivered).as("time until redelivery").isLessThan(Duration.ofSeconds(15));
    assertThat(attemptsOf(held)).as("attempts, including the killed one").containsOnly("2");
    await().atMost(TIMEOUT).until(() -> owners().size() == 2);
  }

  private void stopAnother(ServerProcess node, Carillon api, Receiver receiver) {
    Set<String> held = holdDeliveries("second", api, receiver);
    long since = System.nanoTime();
    Instant stoppedAt = Instant.now();
    node.terminate();
    Duration redelivered = awaitRedelivery(held, receiver, since);
    await().atMost(TIMEOUT).until(() -> owners().size() == 1);

    List<Duration> lateness = new ArrayList<>();
    receiver.deliveries().stream()
        .filter(delivery -> delivery.path().equals("/load") && delivery.dueAt().isAfter(stoppedAt))
        .forEach(delivery -> lateness.add(Duration.between(delivery.dueAt(), delivery.at())));
    Collections.sort(lateness);
    Duration p99 = lateness.get(lateness.size() * 99 / 100);
    System.out.printf(
        "cluster: node stopped with %d deliveries in flight: redelivered %.2f s after its drain"
            + " timeout; start delay of %d tasks meanwhile: p50 %d ms, p99 %d ms, max %d ms%n",
        held.size(),
        redelivered.minus(DRAIN).toNanos() / 1e9,
        lateness.size(),
        lateness.get(lateness.size() / 2).toMillis(),
        p99.toMillis(),
        lateness.getLast().toMillis());
    assertThat(redelivered.minus(DRAIN))
        .as("time until redelivery after the drain timeout")
        .isLessThan(Duration.ofSeconds(1));
    assertThat(p99).as("p99 start delay").isLessThan(Duration.ofSeconds(1));
    await().atMost(TIMEOUT).until(() -> completed(held) == held.size());
    assertThat(attemptsOf(held)).as("attempts, without the interrupted one").containsOnly("1");
    assertThat(node.awaitExit()).isZero();
  }

  private static String in(Set<String> tasks) {
    return " WHERE id IN ('" + String.join("', '", tasks) + "')";
  }

  private long completed(Set<String> tasks) {
    return database.count(
        "SELECT count(*) FROM carillon.task" + in(tasks) + " AND state = 'COMPLETED'");
  }

  private List<String> attemptsOf(Set<String> tasks) {
    return database.column("SELECT attempt FROM carillon.every_task" + in(tasks));
  }

  private void assertEachCompletedOnce() {
    assertThat(
            database.count(
                "SELECT count(*) FROM carillon.task WHERE state <> 'COMPLETED' AND schedule IS"
                    + " NULL"))
        .isZero();
    assertThat(
            database.column(
                "SELECT task FROM carillon.every_transition WHERE to_state = 'COMPLETED'"))
        .doesNotHaveDuplicates();
    assertThat(database.count("SELECT count(*) FROM carillon.claim"))
        .as("remaining claims")
        .isZero();
    database.assertConsistent();
  }

  private void assertFiresWithoutGaps() {
    assertThat(
            database.count(
                "SELECT count(*) FROM (SELECT at - lag(at) OVER (ORDER BY at) AS apart FROM"
                    + " carillon.schedule_fire) f WHERE apart <> interval '1 s'"))
        .as("gaps between fires other than one second")
        .isZero();
  }
}
