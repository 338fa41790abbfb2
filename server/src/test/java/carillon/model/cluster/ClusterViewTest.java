package carillon.model.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class ClusterViewTest {

  private static final Term LEADER = new Term(3, "other");

  @Test
  void a_lane_is_ours_if_its_shard_is() {
    ClusterView view = ClusterView.seen(LEADER, List.of(0, 63), 64, 1);

    assertThat(view.isOurs(64)).isTrue();
    assertThat(view.isOurs(127)).isTrue();
    assertThat(view.isOurs(1)).isFalse();
    assertThat(view.count()).isEqualTo(2);
  }

  @Test
  void who_runs_tasks_alone_looks_after_everything() {
    assertThat(ClusterView.seen(LEADER, List.of(5), 64, 0).count()).isEqualTo(Shards.COUNT);
  }

  @Test
  void who_runs_tasks_alone_may_have_company_that_runs_none() {
    ClusterView alone = ClusterView.seen(LEADER, List.of(5), 64, 0);

    assertThat(alone.isAlone()).isTrue();
    assertThat(alone.inCompany().isAlone()).isFalse();
    assertThat(alone.inCompany().shards()).isEqualTo(alone.shards());
  }

  @Test
  void everybody_looks_after_everything_while_no_shard_is_given_to_anybody() {
    assertThat(ClusterView.seen(null, List.of(), 0, 7)).isEqualTo(ClusterView.ALONE.inCompany());
  }

  @Test
  void who_has_got_no_shard_yet_beside_others_looks_after_nothing() {
    assertThat(ClusterView.seen(LEADER, List.of(), 64, 1)).isEqualTo(ClusterView.without(LEADER));
  }
}
