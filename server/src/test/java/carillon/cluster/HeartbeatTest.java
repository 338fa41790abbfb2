package carillon.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a node says of itself, so that nobody takes it for dead. */
class HeartbeatTest {

  private World world;
  private Heartbeat heartbeat;

  @BeforeEach
  void join() {
    world = World.create();
    var member = new Heartbeat.Member("n", List.of("engine"), "test", Duration.ofMinutes(1));
    heartbeat = Heartbeat.join(world.db, world.clock, member, new Random(1));
  }

  @AfterEach
  void close() {
    world.close();
  }

  private String ending(String node) {
    return world.value("SELECT ending FROM carillon.node WHERE id = '" + node + "'");
  }

  @Test
  void a_node_that_lives_or_died_has_said_nothing() {
    heartbeat.beatOnce();

    assertThat(ending(heartbeat.lease().node())).isEqualTo("null");
  }

  @Test
  void a_node_whose_lease_has_lapsed_says_that_it_lives_and_joins_again() {
    String before = heartbeat.lease().node();
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s'");

    heartbeat.beatOnce();

    assertThat(heartbeat.lease().node()).isNotEqualTo(before);
    assertThat(ending(before)).isEqualTo("CUT_OFF");
    assertThat(ending(heartbeat.lease().node())).isEqualTo("null");
  }

  @Test
  void a_node_that_is_stopped_says_so() {
    heartbeat.leave();

    assertThat(ending(heartbeat.lease().node())).isEqualTo("LEFT");
  }
}
