package carillon.model.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ClusterViewTest {

  private static final Term LEADER = new Term(3, "other");

  @Test
  void a_node_owns_the_lanes_of_its_shards() {
    ClusterView view = ClusterView.seen(LEADER, List.of(0, 63), 64, 1);

    assertThat(view.isOurs(64)).isTrue();
    assertThat(view.isOurs(127)).isTrue();
    assertThat(view.isOurs(1)).isFalse();
    assertThat(view.count()).isEqualTo(2);
  }

  @Test
  void the_only_node_that_runs_tasks_owns_all_shards() {
    assertThat(ClusterView.seen(LEADER, List.of(5), 64, 0).count()).isEqualTo(Shards.COUNT);
  }

  @Test
  void the_only_node_that_runs_tasks_may_have_peers_of_other_roles() {
    ClusterView alone = ClusterView.seen(LEADER, List.of(5), 64, 0);

    assertThat(alone.isAlone()).isTrue();
    assertThat(alone.inCompany().isAlone()).isFalse();
    assertThat(alone.inCompany().shards()).isEqualTo(alone.shards());
  }

  @Test
  void every_node_owns_all_shards_while_none_is_assigned() {
    assertThat(ClusterView.seen(null, List.of(), 0, 7)).isEqualTo(ClusterView.ALONE.inCompany());
  }

  @Test
  void a_node_without_assigned_shards_owns_none_if_others_have_them() {
    assertThat(ClusterView.seen(LEADER, List.of(), 64, 1)).isEqualTo(ClusterView.without(LEADER));
  }
}
