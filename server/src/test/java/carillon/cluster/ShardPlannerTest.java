package carillon.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import carillon.model.Signal;
import carillon.model.cluster.Term;
import carillon.store.cluster.Leadership;
import carillon.store.cluster.Nodes;
import carillon.store.cluster.ShardRows;
import carillon.store.db.Db;
import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ShardPlannerTest {

  private static final Duration LEASE = Duration.ofMinutes(1);

  private World world;
  private Leadership leadership;
  private Db leaderDb;
  private Term term;
  private ShardPlanner planner;
  private final Signal moved = new Signal();

  @BeforeEach
  void lead() {
    world = World.create();
    leadership = new Leadership(world.db);
    term = leadership.take("leader", LEASE).orElseThrow();
    leaderDb = world.db.onlyInTerm(() -> Optional.of(term));
    planner = new ShardPlanner(new ShardRows(leaderDb), () -> Optional.of(term), moved);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Map<String, Integer> loads() {
    Map<String, Integer> loads = new TreeMap<>();
    new ShardRows(world.db)
        .owners()
        .values()
        .forEach(node -> loads.merge(String.valueOf(node), 1, Integer::sum));
    return loads;
  }

  private Map<String, Integer> planned() {
    planner.planOnce();
    return loads();
  }

  @Test
  void shards_are_rebalanced_when_nodes_join_and_leave() {
    world.node("a");
    assertThat(planned()).isEqualTo(Map.of("a", 64));
    world.node("b");
    world.node("c");
    assertThat(planned()).isEqualTo(Map.of("a", 22, "b", 21, "c", 21));
    assertThat(planner.moves()).isEqualTo(64 + 42);

    world.store.nodes().leave("b");
    assertThat(planned()).isEqualTo(Map.of("a", 32, "c", 32));

    world.store.nodes().drain("a");
    assertThat(planned()).as("while a drains").isEqualTo(Map.of("c", 64));

    world.node("d");
    assertThat(planned()).isEqualTo(Map.of("c", 32, "d", 32));
    world.sql("UPDATE carillon.node SET lease_until = clock_timestamp() WHERE id = 'c'");
    assertThat(planned()).as("while c is silent").isEqualTo(Map.of("d", 64));

    world.store.nodes().leave("d");
    assertThat(planned()).as("without nodes").isEqualTo(Map.of("null", 64));
  }

  @Test
  void only_nodes_with_the_engine_role_get_shards() {
    world.store.nodes().join("front", "front", List.of("api"), "test", LEASE);
    assertThat(planned()).isEqualTo(Map.of("null", 64));

    world.store.nodes().join("both", "both", List.of("api", "engine"), "test", LEASE);
    assertThat(planned()).isEqualTo(Map.of("both", 64));
  }

  @Test
  void a_node_of_an_older_version_gets_shards_and_stays_a_member() {
    // The row and the heartbeat of a node that was written for schema version 7.
    world.sql(
        "INSERT INTO carillon.node (id, label, roles, version, lease_until) VALUES"
            + " ('old', 'old', '{api,engine}', '0', clock_timestamp() + interval '1 min')");
    assertThat(
            world.sql(
                "UPDATE carillon.node SET lease_until = clock_timestamp() + interval '1 min'"
                    + " WHERE id = 'old' AND lease_until > clock_timestamp()"))
        .isEqualTo(1);
    world.node("new");

    assertThat(planned()).isEqualTo(Map.of("old", 32, "new", 32));
    assertThat(world.store.nodes().list())
        .extracting(Nodes.Shown::id, Nodes.Shown::status, shown -> shown.shards().size())
        .contains(tuple("old", Nodes.Status.ALIVE, 32));
  }

  @Test
  void nothing_is_written_when_nothing_changes() {
    AtomicInteger raised = new AtomicInteger();
    moved.add(raised::incrementAndGet);
    world.node("a");
    world.node("b");
    planner.planOnce();
    String before = world.value("SELECT max(xmin::text::bigint) FROM carillon.shard");

    planner.planOnce();
    world.store.nodes().join("front", "front", List.of("api"), "test", LEASE);
    planner.planOnce();

    assertThat(world.value("SELECT max(xmin::text::bigint) FROM carillon.shard")).isEqualTo(before);
    assertThat(raised).hasValue(1);
  }

  @Test
  void assigned_shards_name_the_term() {
    world.node("a");
    planner.planOnce();

    assertThat(world.value("SELECT DISTINCT term FROM carillon.shard")).isEqualTo("1");
    ShardRows.Spread spread = new ShardRows(world.db).spread();
    assertThat(spread.total()).isEqualTo(64);
    assertThat(spread.unassigned()).isZero();
    assertThat(spread.lastMovedAt()).isNotNull();
  }

  @Test
  void a_leader_of_an_ended_term_writes_nothing() {
    world.node("a");
    world.sql("UPDATE carillon.leadership SET lease_until = clock_timestamp()");
    leadership.take("other", LEASE);

    assertThat(planned()).isEqualTo(Map.of("null", 64));
    assertThat(leaderDb.staleTerms()).isEqualTo(1);
  }

  @Test
  void a_follower_sends_no_queries() {
    world.node("a");
    new ShardPlanner(new ShardRows(world.db), Optional::empty, moved).planOnce();

    assertThat(loads()).isEqualTo(Map.of("null", 64));
  }
}
