package carillon.store.queue;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.Signal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AgendaTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");
  private static final Partition TODAY = Partition.of(NOW);
  private static final Partition LONG_AGO = Partition.of(NOW.minus(Duration.ofDays(3)));

  private final Signal workDue = new Signal();
  private final Agenda agenda = new Agenda(workDue);
  private final AtomicInteger wakeUps = new AtomicInteger();

  AgendaTest() {
    workDue.add(wakeUps::incrementAndGet);
  }

  @Test
  void only_an_earlier_entry_is_kept_and_raises_the_signal() {
    agenda.onReady(TODAY, 1, NOW.plusSeconds(10));
    agenda.onReady(TODAY, 1, NOW.plusSeconds(20));
    agenda.onReady(TODAY, 1, NOW.plusSeconds(5));

    assertThat(agenda.earliest(_ -> true)).isEqualTo(NOW.plusSeconds(5));
    assertThat(wakeUps).hasValue(2);
  }

  @Test
  void due_entries_are_taken_and_entries_added_meanwhile_are_kept() {
    agenda.onReady(TODAY, 1, NOW);
    agenda.onReady(TODAY, 2, NOW.plusSeconds(1));

    assertThat(agenda.takeDue(NOW, _ -> true)).containsExactly(new Agenda.Entry(TODAY, 1, NOW));
    agenda.onReady(TODAY, 1, NOW.plusSeconds(3));

    assertThat(agenda.takeDue(NOW, _ -> true)).isEmpty();
    assertThat(agenda.takeDue(NOW.plusSeconds(3), _ -> true)).hasSize(2);
  }

  @Test
  void an_entry_put_back_raises_no_signal_and_replaces_no_earlier_one() {
    agenda.onReady(TODAY, 1, NOW);
    agenda.onReady(TODAY, 2, NOW);
    assertThat(agenda.takeDue(NOW, _ -> true)).hasSize(2);
    agenda.onReady(TODAY, 2, NOW.minusSeconds(1));
    int before = wakeUps.get();

    agenda.putBack(TODAY, 1, NOW);
    agenda.putBack(TODAY, 2, NOW);

    assertThat(wakeUps).hasValue(before);
    assertThat(agenda.takeDue(NOW, _ -> true))
        .containsExactlyInAnyOrder(
            new Agenda.Entry(TODAY, 1, NOW), new Agenda.Entry(TODAY, 2, NOW.minusSeconds(1)));
  }

  @Test
  void entries_of_other_lanes_are_kept() {
    agenda.onReady(TODAY, 1, NOW);

    assertThat(agenda.takeDue(NOW, lane -> lane == 2)).isEmpty();
    assertThat(agenda.earliest(lane -> lane == 2)).isNull();
    assertThat(agenda.takeDue(NOW, lane -> lane == 1)).hasSize(1);
  }

  /**
   * A peer that owns lane 7, is late with everything due, and may miss partitions before yesterday.
   * Lane 9 is shared, because workers claim from it.
   */
  private static final class Peer implements Agenda.Peers {
    private final List<Integer> hinted = new ArrayList<>();

    @Override
    public boolean own(int lane) {
      return lane == 7;
    }

    @Override
    public boolean share(int lane) {
      return lane == 9;
    }

    @Override
    public boolean mayMiss(Partition partition) {
      return partition.compareTo(LONG_AGO) <= 0;
    }

    @Override
    public boolean areLateWith(Instant head) {
      return head.isBefore(NOW);
    }

    @Override
    public void hint(Partition partition, int lane, Instant readyAt) {
      hinted.add(lane);
    }
  }

  @Test
  void an_entry_of_a_peers_lane_is_sent_as_a_hint_and_not_kept() {
    Peer peer = new Peer();
    agenda.shareWith(peer);

    agenda.onReady(TODAY, 7, NOW);
    agenda.onReady(TODAY, 8, NOW);

    assertThat(peer.hinted).containsExactly(7);
    assertThat(agenda.takeDue(NOW, _ -> true)).containsExactly(new Agenda.Entry(TODAY, 8, NOW));
  }

  @Test
  void an_entry_of_a_shared_lane_is_sent_as_a_hint_and_kept() {
    Peer peer = new Peer();
    agenda.shareWith(peer);

    agenda.onReady(TODAY, 9, NOW);

    assertThat(peer.hinted).containsExactly(9);
    assertThat(agenda.earliest(_ -> true)).isEqualTo(NOW);
  }

  @Test
  void an_entry_that_a_peer_may_miss_is_kept_until_a_sweep_finds_it_gone() {
    Peer peer = new Peer();
    agenda.shareWith(peer);

    agenda.onReady(LONG_AGO, 7, NOW.plusSeconds(30));
    agenda.swept(LONG_AGO, List.of(new Agenda.Entry(LONG_AGO, 7, NOW.plusSeconds(30))));

    assertThat(peer.hinted).containsExactly(7);
    assertThat(agenda.partitionsDueBy(NOW.plusSeconds(29))).isEmpty();
    assertThat(agenda.partitionsDueBy(NOW.plusSeconds(30)))
        .as("swept every time once it is due")
        .containsExactly(LONG_AGO);
    agenda.swept(LONG_AGO, List.of());
    assertThat(agenda.partitionsDueBy(Instant.MAX)).isEmpty();
  }

  @Test
  void a_swept_head_of_a_peers_lane_is_not_kept() {
    agenda.shareWith(new Peer());

    agenda.swept(LONG_AGO, List.of(new Agenda.Entry(LONG_AGO, 7, NOW.plusSeconds(30))));

    assertThat(agenda.partitionsDueBy(Instant.MAX)).isEmpty();
  }

  @Test
  void a_sweep_keeps_only_late_heads_of_peers_lanes() {
    agenda.shareWith(new Peer());
    agenda.found(TODAY, 7, NOW.minusSeconds(9));

    agenda.swept(TODAY, List.of(new Agenda.Entry(TODAY, 7, NOW.minusSeconds(2))));
    assertThat(agenda.earliest(_ -> true)).isEqualTo(NOW.minusSeconds(2));

    agenda.swept(TODAY, List.of(new Agenda.Entry(TODAY, 7, NOW.plusSeconds(2))));
    assertThat(agenda.earliest(_ -> true)).isNull();
    assertThat(agenda.partitionsDueBy(Instant.MAX)).isEmpty();
  }

  @Test
  void entries_of_own_lanes_survive_a_sweep_that_missed_them() {
    agenda.shareWith(new Peer());
    agenda.onReady(TODAY, 8, NOW);

    agenda.swept(TODAY, List.of());
    agenda.swept(TODAY, List.of(new Agenda.Entry(TODAY, 8, NOW.plusSeconds(5))));

    assertThat(agenda.earliest(_ -> true)).isEqualTo(NOW);
  }
}
