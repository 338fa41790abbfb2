package carillon.model.cluster;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Assigns shards to nodes, evenly and with as few moves as possible. Pure. */
public final class ShardPlan {

  private final Map<String, List<Integer>> kept = new TreeMap<>();
  private final SortedSet<Integer> free = new TreeSet<>();

  private ShardPlan() {}

  /**
   * The owner of each shard; empty if there are no nodes. The order of the input does not matter.
   *
   * @param current the present owner of each shard that has one
   */
  public static Map<Integer, String> assign(
      Map<Integer, @Nullable String> current, Collection<String> live, int shards) {
    if (live.isEmpty()) {
      return Map.of();
    }
    ShardPlan plan = new ShardPlan();
    plan.keepWhatLives(current, new TreeSet<>(live), shards);
    plan.shareOut(plan.quotas(shards));
    return plan.result();
  }

  private void keepWhatLives(
      Map<Integer, @Nullable String> current, SortedSet<String> live, int shards) {
    live.forEach(node -> kept.put(node, new ArrayList<>()));
    for (int shard = 0; shard < shards; shard++) {
      String node = current.get(shard);
      List<Integer> of = node == null ? null : kept.get(node);
      if (of == null) {
        free.add(shard);
      } else {
        of.add(shard);
      }
    }
  }

  /** Where shares cannot be equal, the nodes with the most shards keep one more. */
  private Map<String, Integer> quotas(int shards) {
    List<String> most = new ArrayList<>(kept.keySet());
    // A stable sort, by name first.
    most.sort(Comparator.comparingInt((String node) -> -sizeOf(node)));
    Map<String, Integer> quotas = new TreeMap<>();
    for (int i = 0; i < most.size(); i++) {
      quotas.put(most.get(i), shards / most.size() + (i < shards % most.size() ? 1 : 0));
    }
    return quotas;
  }

  private int sizeOf(String node) {
    return kept.getOrDefault(node, List.of()).size();
  }

  private void shareOut(Map<String, Integer> quotas) {
    kept.forEach((node, shards) -> giveUp(shards, quotas.getOrDefault(node, 0)));
    while (!free.isEmpty()) {
      for (Map.Entry<String, List<Integer>> entry : kept.entrySet()) {
        boolean hasRoom = entry.getValue().size() < quotas.getOrDefault(entry.getKey(), 0);
        if (hasRoom && !free.isEmpty()) {
          entry.getValue().add(free.removeFirst());
        }
      }
    }
  }

  /** Picks spread-out shards, so that neighbouring shards do not all move to one node. */
  private void giveUp(List<Integer> shards, int quota) {
    int surplus = shards.size() - quota;
    if (surplus <= 0) {
      return;
    }
    List<Integer> before = List.copyOf(shards);
    shards.clear();
    for (int i = 0; i < before.size(); i++) {
      boolean isGivenUp = i * surplus / before.size() != (i + 1) * surplus / before.size();
      if (isGivenUp) {
        free.add(before.get(i));
      } else {
        shards.add(before.get(i));
      }
    }
  }

  private Map<Integer, String> result() {
    Map<Integer, String> owners = new TreeMap<>();
    kept.forEach((node, shards) -> shards.forEach(shard -> owners.put(shard, node)));
    return owners;
  }
}
