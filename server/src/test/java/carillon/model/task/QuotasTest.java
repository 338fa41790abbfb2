package carillon.model.task;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TenantId;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class QuotasTest {

  private static final Instant NOW = Instant.parse("2026-11-15T10:00:00Z");

  private static DueLane lane(int id, int tenant, String type, int priority, Duration waited) {
    return new DueLane(
        Partition.of(NOW),
        new Lane(id, new TenantId(tenant), type, priority, 0, Route.PUSH),
        NOW.minus(waited));
  }

  @Test
  void no_lanes_get_no_shares() {
    assertThat(Quotas.share(List.of(), 500, NOW)).isEmpty();
  }

  @Test
  void one_lane_gets_every_seat() {
    DueLane only = lane(1, 1, "a", 5, Duration.ZERO);

    assertThat(Quotas.share(List.of(only), 500, NOW)).containsExactly(Map.entry(only, 500));
  }

  @Test
  void tenants_get_equal_shares_regardless_of_their_lanes() {
    List<DueLane> lanes = new ArrayList<>();
    DueLane onlyOfTenant = lane(0, 2, "a", 5, Duration.ZERO);
    lanes.add(onlyOfTenant);
    for (int i = 1; i <= 9; i++) {
      lanes.add(lane(i, 1, "type-" + i, 5, Duration.ZERO));
    }

    assertThat(Quotas.share(lanes, 100, NOW).get(onlyOfTenant)).isEqualTo(50);
  }

  @Test
  void the_most_urgent_lane_gets_most_seats_and_the_others_a_minimum() {
    DueLane urgent = lane(1, 1, "a", 9, Duration.ZERO);
    DueLane idle = lane(2, 1, "a", 0, Duration.ZERO);

    Map<DueLane, Integer> shares = Quotas.share(List.of(urgent, idle), 100, NOW);

    assertThat(shares).containsEntry(urgent, 90).containsEntry(idle, 10);
  }

  @Test
  void waiting_makes_a_lane_more_urgent() {
    DueLane urgent = lane(1, 1, "a", 9, Duration.ZERO);
    DueLane old = lane(2, 1, "a", 0, Duration.ofMinutes(10));

    assertThat(Quotas.share(List.of(urgent, old), 100, NOW).get(old)).isEqualTo(90);
  }

  @Test
  void shares_add_up_to_exactly_the_seats() {
    Random random = new Random(11);
    for (int round = 0; round < 500; round++) {
      List<DueLane> lanes = new ArrayList<>();
      for (int i = 0; i <= random.nextInt(40); i++) {
        lanes.add(
            lane(
                i,
                random.nextInt(5),
                "t" + random.nextInt(4),
                random.nextInt(10),
                Duration.ofSeconds(random.nextInt(90))));
      }
      int seats = random.nextInt(300);

      Map<DueLane, Integer> shares = Quotas.share(lanes, seats, NOW.plusMillis(round));

      assertThat(shares.values().stream().mapToInt(Integer::intValue).sum()).isEqualTo(seats);
      assertThat(shares.values()).allMatch(share -> share > 0);
    }
  }

  @Test
  void many_lanes_get_worthwhile_shares_in_turn() {
    List<DueLane> lanes = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      lanes.add(lane(i, i % 100, "type-" + i / 100, 5, Duration.ZERO));
    }
    Set<DueLane> served = new HashSet<>();
    Random random = new Random(11);
    Instant now = NOW;

    for (int pass = 0; pass < 400; pass++) {
      Map<DueLane, Integer> shares = Quotas.share(lanes, 2_000, now);
      assertThat(shares.values()).allMatch(share -> share >= 62); // 2,000 / 32 seats
      served.addAll(shares.keySet());
      now = now.plusMillis(20 + random.nextInt(20));
    }

    assertThat(served).hasSize(1_000);
  }

  @Test
  void a_single_seat_goes_to_every_type_of_every_tenant_in_turn() {
    List<DueLane> lanes = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      lanes.add(lane(i, i % 2, "type-" + i / 2, 5, Duration.ZERO));
    }
    Set<DueLane> served = new HashSet<>();

    for (int pass = 0; pass < 8; pass++) {
      served.addAll(Quotas.share(lanes, 1, NOW.plusMillis(pass)).keySet());
    }

    assertThat(served).hasSize(4);
  }

  @Test
  void few_seats_go_to_as_many_tenants_as_there_are_seats() {
    List<DueLane> lanes = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      lanes.add(lane(i, i, "a", 5, Duration.ZERO));
    }

    assertThat(Quotas.share(lanes, 10, NOW)).hasSize(10);
  }
}
