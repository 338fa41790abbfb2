package carillon.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Signal;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Shards;
import carillon.model.cluster.Term;
import carillon.model.cluster.Vitals;
import carillon.store.cluster.Leadership;
import carillon.store.cluster.Nodes;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The lease, status and vitals of a node, and its view of the cluster. */
class HeartbeatTest {

  private World world;
  private Heartbeat heartbeat;
  private final Signal changed = new Signal();

  @BeforeEach
  void join() {
    world = World.create();
    var member = new Heartbeat.Member("n", List.of("engine"), "test", Duration.ofMinutes(1));
    heartbeat = Heartbeat.join(world.db, world.clock, member, new Random(1), changed);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private String ending(String node) {
    return world.value("SELECT ending FROM carillon.node WHERE id = '" + node + "'");
  }

  @Test
  void a_node_that_is_alive_or_crashed_has_no_ending() {
    heartbeat.beatOnce();

    assertThat(ending(heartbeat.lease().node())).isEqualTo("null");
  }

  @Test
  void a_node_with_a_lapsed_lease_reports_that_it_was_cut_off_and_rejoins() {
    String before = heartbeat.lease().node();
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");

    heartbeat.beatOnce();

    assertThat(heartbeat.lease().node()).isNotEqualTo(before);
    assertThat(ending(before)).isEqualTo("CUT_OFF");
    assertThat(ending(heartbeat.lease().node())).isEqualTo("null");
  }

  @Test
  void a_stopped_node_is_recorded_as_left() {
    heartbeat.leave();

    assertThat(ending(heartbeat.lease().node())).isEqualTo("LEFT");
  }

  @Test
  void a_node_reports_its_vitals() {
    heartbeat.report(
        () -> new Vitals(3, 8, Duration.ofMillis(250), 100, 97, new Vitals.Suspects(5, 2)));
    heartbeat.advertise("http://localhost:8080");
    heartbeat.beatOnce();

    Nodes.Shown shown = world.store.nodes().list().getFirst();
    assertThat(shown.id()).isEqualTo(heartbeat.lease().node());
    assertThat(shown.label()).isEqualTo("n");
    assertThat(shown.roles()).containsExactly("engine");
    assertThat(shown.status()).isEqualTo(Nodes.Status.ALIVE);
    assertThat(shown.vitals())
        .isEqualTo(new Vitals(3, 8, Duration.ofMillis(250), 100, 97, new Vitals.Suspects(5, 2)));
    assertThat(shown.address()).isEqualTo("http://localhost:8080");
    assertThat(shown.clockOffset()).isBetween(Duration.ofSeconds(-2), Duration.ofSeconds(2));
    assertThat(shown.times().renewedAt()).isAfterOrEqualTo(shown.times().startedAt());
    assertThat(shown.times().leaseUntil()).isAfter(shown.times().renewedAt());
  }

  @Test
  void a_draining_node_is_still_draining_after_it_rejoined() {
    heartbeat.drain();
    assertThat(status(heartbeat.lease().node())).isEqualTo(Nodes.Status.DRAINING);

    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");
    String before = heartbeat.lease().node();
    heartbeat.beatOnce();

    assertThat(status(before)).as("status of the old id").isEqualTo(Nodes.Status.LEFT);
    assertThat(status(heartbeat.lease().node())).isEqualTo(Nodes.Status.DRAINING);
  }

  @Test
  void a_draining_node_reports_it_with_every_heartbeat() {
    heartbeat.drain();
    world.sql("UPDATE carillon.node SET draining = false"); // as after a rejoin

    heartbeat.beatOnce();

    assertThat(status(heartbeat.lease().node())).isEqualTo(Nodes.Status.DRAINING);
  }

  @Test
  void a_node_that_cannot_read_its_vitals_repeats_the_last_ones_and_stays_alive() {
    Vitals vitals = new Vitals(3, 8, Duration.ofMillis(250), 100, 97, new Vitals.Suspects(5, 2));
    heartbeat.report(() -> vitals);
    heartbeat.beatOnce();
    world.sql("UPDATE carillon.node SET renewed_at = '2020-01-01', in_flight = 0");
    heartbeat.report(
        () -> {
          throw new IllegalStateException("cannot count");
        });

    heartbeat.beatOnce();

    Nodes.Shown shown = world.store.nodes().list().getFirst();
    assertThat(shown.times().renewedAt()).isAfter(Instant.parse("2021-01-01T00:00:00Z"));
    assertThat(shown.vitals()).isEqualTo(vitals);
  }

  @Test
  void the_delay_after_a_heartbeat_excludes_the_time_it_took() {
    assertThat(heartbeat.beatOnce()).isLessThan(Duration.ofSeconds(1));
  }

  private Nodes.Status status(String node) {
    return world.store.nodes().list().stream()
        .filter(shown -> shown.id().equals(node))
        .findFirst()
        .orElseThrow()
        .status();
  }

  @Test
  void a_node_without_heartbeats_is_silent() {
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");

    assertThat(status(heartbeat.lease().node())).isEqualTo(Nodes.Status.SILENT);
  }

  @Test
  void a_single_node_owns_all_shards() {
    world.sql("UPDATE carillon.shard SET node = 'a former node'");

    heartbeat.beatOnce();

    assertThat(heartbeat.view()).isEqualTo(ClusterView.ALONE);
  }

  @Test
  void a_change_of_leader_or_shards_raises_the_signal() {
    world.node("other");
    heartbeat.beatOnce(); // the node learns that it is not alone
    AtomicInteger raised = new AtomicInteger();
    changed.add(raised::incrementAndGet);

    heartbeat.beatOnce();
    assertThat(raised).as("signals without a change").hasValue(0);

    Term term = new Leadership(world.db).take("other", Duration.ofMinutes(1)).orElseThrow();
    heartbeat.beatOnce();
    heartbeat.beatOnce();
    assertThat(raised).hasValue(1);
    assertThat(heartbeat.view().leader()).isEqualTo(term);

    world.sql("UPDATE carillon.shard SET node = 'other'");
    world.sql(
        "UPDATE carillon.shard SET node = '" + heartbeat.lease().node() + "' WHERE id IN (1, 40)");
    heartbeat.beatOnce();
    heartbeat.beatOnce();
    assertThat(raised).hasValue(2);
    assertThat(heartbeat.view()).isEqualTo(ClusterView.seen(term, List.of(1, 40), 64, 1));

    world.sql("UPDATE carillon.leadership SET lease_until = now() - interval '1 s'");
    heartbeat.beatOnce();
    assertThat(raised).hasValue(3);
    assertThat(heartbeat.view().leader()).as("leader with a lapsed lease").isNull();
  }

  @Test
  void a_node_without_the_engine_role_owns_no_shards() {
    var member = new Heartbeat.Member("front", List.of("api"), "test", Duration.ofMinutes(1));
    Heartbeat front = Heartbeat.join(world.db, world.clock, member, new Random(2), new Signal());

    assertThat(front.view().count()).isZero();
    heartbeat.beatOnce();
    assertThat(heartbeat.view().count())
        .as("shards of the only engine node")
        .isEqualTo(Shards.COUNT);
  }

  @Test
  void a_stuck_node_lets_its_lease_lapse_and_rejoins() {
    AtomicReference<Optional<String>> problem = new AtomicReference<>(Optional.of("stuck"));
    heartbeat.renewUnlessStuck(problem::get);
    String before = heartbeat.lease().node();
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");

    heartbeat.beatOnce();
    assertThat(heartbeat.lease().node()).isEqualTo(before);
    assertThat(status(before)).isEqualTo(Nodes.Status.SILENT);

    problem.set(Optional.empty());
    heartbeat.beatOnce();
    assertThat(heartbeat.lease().node()).isNotEqualTo(before);
    assertThat(status(heartbeat.lease().node())).isEqualTo(Nodes.Status.ALIVE);
  }

  @Test
  void a_node_that_joins_early_gets_no_shards_until_it_begins() {
    var member = new Heartbeat.Member("early", List.of("engine"), "test", Duration.ofMinutes(1));
    Heartbeat early =
        Heartbeat.joinEarly(world.db, world.clock, member, new Random(2), new Signal());

    early.beatOnce();
    assertThat(status(early.lease().node())).isEqualTo(Nodes.Status.DRAINING);
    heartbeat.beatOnce();
    assertThat(heartbeat.view().count()).as("shards of the other node").isEqualTo(Shards.COUNT);

    world.sql(
        "UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE label = 'early'");
    early.beatOnce();
    assertThat(status(early.lease().node()))
        .as("status after the rejoin")
        .isEqualTo(Nodes.Status.DRAINING);

    early.begin();
    early.beatOnce();
    assertThat(status(early.lease().node())).isEqualTo(Nodes.Status.ALIVE);
  }

  @Test
  void a_node_that_is_stopped_before_it_begins_never_gets_shards() {
    var member = new Heartbeat.Member("early", List.of("engine"), "test", Duration.ofMinutes(1));
    Heartbeat early =
        Heartbeat.joinEarly(world.db, world.clock, member, new Random(2), new Signal());

    early.drain();
    early.begin();
    early.beatOnce();

    assertThat(status(early.lease().node())).isEqualTo(Nodes.Status.DRAINING);
  }
}
