package carillon.model.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShardPlanTest {

  private static final int SHARDS = Shards.COUNT;

  private static Map<Integer, @Nullable String> plan(
      Map<Integer, @Nullable String> current, Set<String> live) {
    return new HashMap<>(ShardPlan.assign(current, live, SHARDS));
  }

  private static Map<String, Long> loads(Map<Integer, @Nullable String> owners, Set<String> live) {
    Map<String, Long> loads =
        owners.values().stream()
            .filter(Objects::nonNull)
            .collect(Collectors.groupingBy(node -> node, Collectors.counting()));
    live.forEach(node -> loads.putIfAbsent(node, 0L));
    return loads;
  }

  private static long moves(
      Map<Integer, @Nullable String> before, Map<Integer, @Nullable String> after, int shards) {
    return IntStream.range(0, shards)
        .filter(shard -> !Objects.equals(before.get(shard), after.get(shard)))
        .count();
  }

  /** Every plan must move the shards without a live owner and those above a node's fair share. */
  private static long fewestMoves(Map<Integer, @Nullable String> current, Set<String> live) {
    int share = SHARDS / live.size();
    int nodesWithOneMore = SHARDS % live.size();
    Map<String, Long> loads = loads(current, live);
    long kept =
        live.stream().mapToLong(node -> Math.min(loads.getOrDefault(node, 0L), share)).sum();
    long above = live.stream().filter(node -> loads.getOrDefault(node, 0L) > share).count();
    return SHARDS - kept - Math.min(above, nodesWithOneMore);
  }

  private static void assertFair(Map<Integer, @Nullable String> owners, Set<String> live) {
    assertThat(owners).hasSize(SHARDS).doesNotContainValue(null);
    Map<String, Long> loads = loads(owners, live);
    assertThat(loads).containsOnlyKeys(live);
    assertThat(Collections.max(loads.values()) - Collections.min(loads.values()))
        .as("difference between the highest and the lowest of %s", loads)
        .isLessThanOrEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void joining_and_leaving_nodes_cause_the_fewest_moves_to_an_even_plan(long seed) {
    Random random = new Random(seed);
    Set<String> live = new TreeSet<>(Set.of("n0"));
    Map<Integer, @Nullable String> owners = new HashMap<>();
    for (int step = 1; step <= 400; step++) {
      boolean joins = live.size() == 1 || (live.size() < 20 && random.nextBoolean());
      if (joins) {
        live.add("n" + random.nextInt(100_000));
      } else {
        live.remove(List.copyOf(live).get(random.nextInt(live.size())));
      }
      if (random.nextInt(10) == 0) {
        owners.put(random.nextInt(SHARDS), null);
      }

      Map<Integer, @Nullable String> next = plan(owners, live);

      assertFair(next, live);
      assertThat(moves(owners, next, SHARDS)).isEqualTo(fewestMoves(owners, live));
      assertThat(plan(next, live)).as("planned again").isEqualTo(next);
      owners = next;
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {11, 12, 13})
  void any_assignment_becomes_even_with_the_fewest_moves(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 300; round++) {
      Set<String> live = new TreeSet<>();
      int nodes = 1 + random.nextInt(20);
      IntStream.range(0, nodes).forEach(n -> live.add("n" + n));
      Map<Integer, @Nullable String> owners = new HashMap<>();
      for (int shard = 0; shard < SHARDS; shard++) {
        int owner = random.nextInt(nodes + 4); // some owners are dead, some shards have none
        owners.put(shard, owner < nodes + 3 ? "n" + owner : null);
      }

      Map<Integer, @Nullable String> next = plan(owners, live);

      assertFair(next, live);
      assertThat(moves(owners, next, SHARDS)).isEqualTo(fewestMoves(owners, live));
    }
  }

  @Test
  void no_other_even_plan_needs_fewer_moves() {
    List<String> live = List.of("a", "b", "c");
    Random random = new Random(7);
    for (int round = 0; round < 100; round++) {
      int shards = 1 + random.nextInt(6);
      Map<Integer, @Nullable String> owners = new HashMap<>();
      for (int shard = 0; shard < shards; shard++) {
        owners.put(shard, List.of("a", "b", "c", "gone").get(random.nextInt(4)));
      }

      Map<Integer, @Nullable String> next = new HashMap<>(ShardPlan.assign(owners, live, shards));

      assertThat(moves(owners, next, shards)).isEqualTo(fewestByTryingAll(owners, live, shards));
    }
  }

  /** Tries every assignment. */
  private static long fewestByTryingAll(
      Map<Integer, @Nullable String> owners, List<String> live, int shards) {
    long fewest = shards;
    for (int assignment = 0; assignment < Math.pow(live.size(), shards); assignment++) {
      Map<Integer, @Nullable String> tried = new HashMap<>();
      int rest = assignment;
      for (int shard = 0; shard < shards; shard++) {
        tried.put(shard, live.get(rest % live.size()));
        rest /= live.size();
      }
      Map<String, Long> loads = loads(tried, Set.copyOf(live));
      if (Collections.max(loads.values()) - Collections.min(loads.values()) <= 1) {
        fewest = Math.min(fewest, moves(owners, tried, shards));
      }
    }
    return fewest;
  }

  @Test
  void the_order_of_the_input_does_not_matter() {
    Random random = new Random(3);
    for (int round = 0; round < 100; round++) {
      int nodes = 1 + random.nextInt(20);
      List<String> live =
          new ArrayList<>(IntStream.range(0, nodes).mapToObj(n -> "n" + n).toList());
      Map<Integer, @Nullable String> owners = new LinkedHashMap<>();
      IntStream.range(0, SHARDS).forEach(shard -> owners.put(shard, "n" + random.nextInt(24)));
      Map<Integer, String> expected = ShardPlan.assign(owners, live, SHARDS);

      List<Integer> order = new ArrayList<>(owners.keySet());
      Collections.shuffle(order, random);
      Collections.shuffle(live, random);
      Map<Integer, @Nullable String> shuffled = new LinkedHashMap<>();
      order.forEach(shard -> shuffled.put(shard, owners.get(shard)));

      assertThat(ShardPlan.assign(shuffled, live, SHARDS)).isEqualTo(expected);
    }
  }

  /** The slices of a type are adjacent lanes, so they should be claimed by different nodes. */
  @Test
  void adjacent_shards_are_spread_over_all_nodes() {
    Set<String> live = new TreeSet<>();
    Map<Integer, @Nullable String> owners = new HashMap<>();
    for (String joining : List.of("a", "b", "c", "d")) {
      live.add(joining);
      owners = plan(owners, live);
      for (int first = 0; first < SHARDS; first++) {
        Set<String> touched = new TreeSet<>();
        for (int slice = 0; slice < 4 * live.size(); slice++) {
          touched.add(String.valueOf(owners.get((first + slice) % SHARDS)));
        }
        assertThat(touched).as("from shard %d on", first).isEqualTo(live);
      }
    }
  }

  @Test
  void without_nodes_no_shard_is_assigned() {
    assertThat(ShardPlan.assign(Map.of(0, "gone"), Set.of(), SHARDS)).isEmpty();
  }

  @Test
  void every_lane_has_a_shard() {
    assertThat(Shards.of(0)).isZero();
    assertThat(Shards.of(65)).isEqualTo(1);
    assertThat(Shards.of(-1)).isEqualTo(63);
  }
}
