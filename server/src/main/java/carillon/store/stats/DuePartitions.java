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
 * The partitions and lanes that may have due tasks: all lanes of today's and yesterday's partition,
 * and in other partitions those where the last census found tasks. Reading every lane of every
 * partition would take too many index scans.
 */
final class DuePartitions {

  /** Index scans in partitions other than today's and yesterday's. */
  static final int MAX_SCANS = 20_000;

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
   * The lanes to scan in each partition.
   *
   * @param isAll false if lanes were left out because there are too many
   */
  record Scans(Map<Partition, List<Integer>> lanes, boolean isAll) {}

  /**
   * Selects the lanes to scan. The latest partitions are left out first: as a rule they were opened
   * before their day, and their tasks are not due yet.
   */
  Scans of(Collection<Integer> lanes, Instant now) {
    if (lanes.isEmpty()) {
      return new Scans(Map.of(), true);
    }
    Set<Partition> recent = Set.of(Partition.of(now), Partition.of(now.minus(Duration.ofDays(1))));
    List<Partition> open = partitions.open(now);
    List<Partition> others =
        open.stream().filter(partition -> !recent.contains(partition)).toList();
    List<Waiting> found = waiting(others, lanes);
    Map<Partition, List<Integer>> wanted = new TreeMap<>();
    found.stream()
        .limit(MAX_SCANS)
        .forEach(
            each ->
                wanted.computeIfAbsent(each.partition(), _ -> new ArrayList<>()).add(each.lane()));
    open.stream()
        .filter(recent::contains)
        .forEach(partition -> wanted.put(partition, List.copyOf(lanes)));
    return new Scans(wanted, found.size() <= MAX_SCANS);
  }

  private record Waiting(Partition partition, int lane) {}

  /** One more than the limit, if there are more. */
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
                MAX_SCANS + 1));
  }
}
