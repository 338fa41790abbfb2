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

/** Takes the leader away in every way, and looks who follows and where the shards go. */
class LeaderTest {

  /** Of a leader, half of the nodes'. */
  private static final Duration LEASE = Duration.ofMillis(1500);

  /** Until the next one has noticed and acted, on a busy machine. */
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
        .orElse("nobody");
  }

  private long term() {
    return database.count("SELECT term FROM carillon.leadership");
  }

  /** How many shards each node has that is there, by name. */
  private List<String> loads() {
    return database.column(
        "SELECT n.label || ' ' || count(*) FROM carillon.shard s JOIN carillon.node n ON n.id ="
            + " s.node WHERE n.lease_until > clock_timestamp() GROUP BY n.label ORDER BY 1");
  }

  private void within(Duration most, Callable<Boolean> isSo) {
    await().atMost(most).pollInterval(Duration.ofMillis(20)).until(isSo);
  }

  private static ServerProcess named(String name, Map<String, ServerProcess> all) {
    return Objects.requireNonNull(all.get(name), name);
  }

  /** Who leads after it, in a later term. */
  private String nextLeader(String before, Duration most, Runnable loss) {
    long term = term();
    assertThat(leader()).isEqualTo(before);
    loss.run();
    within(most, () -> term() > term && !List.of(before, "nobody").contains(leader()));
    return leader();
  }

  @Test
  void whoever_leads_next_does_so_in_seconds_and_shares_the_shards_out() {
    ServerProcess a = launch("a", "api,engine").awaitReady();
    within(SLACK, () -> leader().equals("a"));
    ServerProcess b = launch("b", "engine");
    ServerProcess front = launch("front", "api");
    b.awaitReady();
    front.awaitReady();
    within(SLACK, () -> loads().equals(List.of("a 32", "b 32")));
    assertThat(a.metric("carillon_leader")).isEqualTo(1);
    assertThat(b.metric("carillon_leader")).isZero();
    within(SLACK, () -> b.metric("carillon_shards") == 32 && b.metric("carillon_term") == term());
    assertThat(front.metric("carillon_shards")).isZero();

    String second =
        nextLeader("a", LEASE.plus(SLACK), a::suspend); // b or front, which does not matter
    a.resume();
    within(SLACK, () -> a.metric("carillon_leader") == 0);
    within(SLACK.multipliedBy(2), () -> loads().equals(List.of("a 32", "b 32")));

    Map<String, ServerProcess> all = Map.of("a", a, "b", b, "front", front);
    String third = nextLeader(second, LEASE.plus(SLACK), () -> named(second, all).kill9());

    nextLeader(third, SLACK, () -> assertThat(named(third, all).stop()).isZero());
  }
}
