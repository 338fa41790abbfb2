package carillon.store.stats;

import carillon.model.Partition;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Db;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Where something may be due: in today's partition and yesterday's in every lane, in others only
 * where the last census found something. To look into every old partition, and every one that was
 * opened before its day, for every lane would be many looks.
 */
final class DuePartitions {

  /** Lanes of other partitions that are looked at, each partition's for itself. */
  static final int MOST_LOOKS = 20_000;

  private final Db db;
  private final Partitions partitions;

  DuePartitions(Db db, Partitions partitions) {
    this.db = db;
    this.partitions = partitions;
  }

  private static final String WAITING =
      """
      /* DuePartitions.waiting */
      SELECT partition, lane
      FROM carillon.waiting
      WHERE partition = ANY (?)
        AND lane = ANY (?)
      ORDER BY partition, lane
      LIMIT ?
      """;

  /**
   * What to look at.
   *
   * @param isAll whether nothing was left out because there is too much
   */
  record Looks(Map<Partition, List<Integer>> lanes, boolean isAll) {}

  /**
   * Of these lanes, which to look at in which partition. Left out are the latest partitions first:
   * those that were opened before their day, as a rule, where most is for later.
   */
  Looks of(Collection<Integer> lanes, Instant now) {
    if (lanes.isEmpty()) {
      return new Looks(Map.of(), true);
    }
    Set<Partition> recent = Set.of(Partition.of(now), Partition.of(now.minus(Duration.ofDays(1))));
    List<Partition> open = partitions.open(now);
    List<Partition> others =
        open.stream().filter(partition -> !recent.contains(partition)).toList();
    List<Waiting> found = waiting(others, lanes);
    Map<Partition, List<Integer>> wanted = new TreeMap<>();
    found.stream()
        .limit(MOST_LOOKS)
        .forEach(
            each ->
                wanted.computeIfAbsent(each.partition(), _ -> new ArrayList<>()).add(each.lane()));
    open.stream()
        .filter(recent::contains)
        .forEach(partition -> wanted.put(partition, List.copyOf(lanes)));
    return new Looks(wanted, found.size() <= MOST_LOOKS);
  }

  private record Waiting(Partition partition, int lane) {}

  /** One more than are looked at, if there are more. */
  private List<Waiting> waiting(List<Partition> others, Collection<Integer> lanes) {
    return db.autoCommit(
        tx ->
            tx.query(
                WAITING,
                row ->
                    new Waiting(
                        new Partition(row.getObject("partition", LocalDate.class)),
                        row.getInt("lane")),
                Column.dates(others, Partition::day),
                Column.ints(lanes, lane -> lane),
                MOST_LOOKS + 1));
  }
}
