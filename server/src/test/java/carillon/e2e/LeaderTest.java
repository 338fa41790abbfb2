package carillon.e2e;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.store.db.Db;
import carillon.testkit.Postgres;
import carillon.testkit.ServerProcess;
import carillon.testkit.Servers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Suspends, kills and stops the leader; another node takes over, and the shards are reassigned. */
class LeaderTest {

  /** The leader's lease: half of the node lease. */
  private static final Duration LEADER_LEASE = Duration.ofMillis(1500);

  /** Time for another node to react, on a busy machine. */
  private static final Duration SLACK = Duration.ofSeconds(2);

  @RegisterExtension final Servers servers = new Servers();

  private final Db.Address address = Postgres.freshDatabase();
  private final Database database = new Database(address);

  private ServerProcess launch(String name, String roles) {
    return servers.launchOn(address, "--node-id", name, "--node-lease", "3s", "--roles", roles);
  }

  private String leader() {
    return database
        .column(
            "SELECT label FROM carillon.leadership l JOIN carillon.node n ON n.id = l.node"
                + " WHERE l.lease_until > clock_timestamp()")
        .stream()
        .findFirst()
        .orElse("none");
  }

  private long term() {
    return database.count("SELECT term FROM carillon.leadership");
  }

  /** The number of shards of each live node, such as {@code a 32}. */
  private List<String> loads() {
    return database.column(
        "SELECT n.label || ' ' || count(*) FROM carillon.shard s JOIN carillon.node n ON n.id ="
            + " s.node WHERE n.lease_until > clock_timestamp() GROUP BY n.label ORDER BY 1");
  }

  private void awaitWithin(Duration timeout, Callable<Boolean> condition) {
    await().atMost(timeout).pollInterval(Duration.ofMillis(20)).until(condition);
  }

  private static ServerProcess named(String name, Map<String, ServerProcess> all) {
    return Objects.requireNonNull(all.get(name), name);
  }

  /** Removes the leader, and waits for the next leader in a later term. */
  private String nextLeader(String before, Duration timeout, Runnable loss) {
    long term = term();
    assertThat(leader()).isEqualTo(before);
    loss.run();
    awaitWithin(timeout, () -> term() > term && !List.of(before, "none").contains(leader()));
    return leader();
  }

  @Test
  void a_new_leader_takes_over_within_seconds_and_reassigns_the_shards() {
    ServerProcess a = launch("a", "api,engine").awaitReady();
    awaitWithin(SLACK, () -> leader().equals("a"));
    ServerProcess b = launch("b", "engine");
    ServerProcess front = launch("front", "api");
    b.awaitReady();
    front.awaitReady();
    awaitWithin(SLACK, () -> loads().equals(List.of("a 32", "b 32")));
    assertThat(a.metric("carillon_leader")).isEqualTo(1);
    assertThat(b.metric("carillon_leader")).isZero();
    awaitWithin(
        SLACK, () -> b.metric("carillon_shards") == 32 && b.metric("carillon_term") == term());
    assertThat(front.metric("carillon_shards")).isZero();

    String second = nextLeader("a", LEADER_LEASE.plus(SLACK), a::suspend); // b or front
    a.resume();
    awaitWithin(SLACK, () -> a.metric("carillon_leader") == 0);
    awaitWithin(SLACK.multipliedBy(2), () -> loads().equals(List.of("a 32", "b 32")));

    Map<String, ServerProcess> all = Map.of("a", a, "b", b, "front", front);
    String third = nextLeader(second, LEADER_LEASE.plus(SLACK), () -> named(second, all).kill9());

    nextLeader(third, SLACK, () -> assertThat(named(third, all).stop()).isZero());
  }
}
