package carillon.store.stats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import carillon.model.Partition;
import carillon.model.target.Target;
import carillon.store.tasks.TaskFilter;
import carillon.testkit.World;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DuePartitionsTest {

  private static final Partition OLD = new Partition(LocalDate.of(2020, 1, 1));
  private static final Partition CUTOFF = new Partition(LocalDate.of(2020, 6, 1));

  private World world;
  private StatsReader reader;
  private Backlog backlog;
  private DuePartitions duePartitions;
  private Partition today;

  @BeforeEach
  void open() {
    world = World.create();
    world.create(World.task("t", new Target.Pull()));
    reader = new StatsReader(world.db, world.catalog, world.partitions, world.clock);
    backlog = new Backlog(world.db, world.catalog, world.partitions);
    duePartitions = new DuePartitions(world.db, world.partitions);
    today = Partition.of(world.clock.instant());
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void census(Partition partition, int lanes) {
    world.sql(
        """
        INSERT INTO carillon.waiting (lane, partition, tasks)
        SELECT lane, DATE '%s', 1 FROM generate_series(1, %d) AS lane
        """
            .formatted(partition.day(), lanes));
  }

  /** Opens partitions of consecutive days. */
  private List<Partition> openPartitions(LocalDate first, int days) {
    List<Partition> partitions =
        first.datesUntil(first.plusDays(days)).map(Partition::new).toList();
    world.sql(
        """
        INSERT INTO carillon.partition (day, opens_at)
        SELECT DATE '%s' + n, now() FROM generate_series(0, %d) AS n
        """
            .formatted(first, days - 1));
    return partitions;
  }

  @Test
  void a_dropped_partition_has_no_due_tasks() {
    openPartitions(OLD.day(), 1); // without the tables of the partition
    census(OLD, 1);
    world.sql(
        """
        INSERT INTO carillon.claim (id, leased_by, lease_until, check_at, partition, tenants, tasks, fences)
        VALUES (gen_random_uuid(), 'w', now(), now(), DATE '2020-01-01', ARRAY[1], ARRAY[gen_random_uuid()], ARRAY[1])
        """);

    assertThat(reader.due(Set.of(World.TENANT)).get(World.TENANT))
        .extracting(due -> due.types().get("t"))
        .extracting(StatsReader.Due::tasks)
        .isEqualTo(1L);
    assertThat(reader.running(Set.of(World.TENANT)).get(World.TENANT))
        .isEqualTo(new StatsReader.PerType<>(Map.of(), false));
    assertThat(backlog.read(world.clock.instant(), 100).due()).isEqualTo(1);
  }

  @Test
  void reads_succeed_while_partitions_are_created_and_dropped() throws Exception {
    StorageReader storage = new StorageReader(world.db);
    WaitingCounts counts = new WaitingCounts(world.db);
    try (ExecutorService pool = Executors.newSingleThreadExecutor()) {
      Future<Integer> dropped =
          pool.submit(
              () -> {
                int drops = 0;
                for (int round = 0; round < 40; round++) {
                  world.partitions.ensure(OLD);
                  world.sql("DELETE FROM carillon.waiting");
                  census(OLD, 1);
                  drops += world.partitions.dropBefore(CUTOFF);
                }
                return drops;
              });
      do {
        assertThatCode(
                () -> {
                  reader.due(Set.of(World.TENANT));
                  reader.running(Set.of(World.TENANT));
                  reader.waiting(Set.of(World.TENANT));
                  backlog.read(world.clock.instant(), 100);
                  storage.read();
                  counts.changes();
                  world.tasks.list(World.TENANT, TaskFilter.ALL, 100, null, false);
                })
            .doesNotThrowAnyException();
      } while (!dropped.isDone());
      assertThat(dropped.get()).as("partitions dropped in the meantime").isPositive();
    }
  }

  @Test
  void other_partitions_are_scanned_only_where_the_census_found_tasks() {
    List<Partition> old = openPartitions(OLD.day(), 20);
    List<Partition> early = openPartitions(today.day().plusDays(10), 200);
    census(old.get(3), 1);
    census(early.get(7), 2);

    DuePartitions.Scans scans = duePartitions.of(List.of(1, 2, 3), world.clock.instant());

    assertThat(scans.isAll()).isTrue();
    assertThat(scans.lanes())
        .containsEntry(today, List.of(1, 2, 3))
        .containsEntry(old.get(3), List.of(1))
        .containsEntry(early.get(7), List.of(1, 2))
        .hasSize(3);
  }

  @Test
  void the_number_of_scanned_lanes_is_bounded_earliest_partitions_first() {
    List<Integer> lanes = IntStream.rangeClosed(1, 5_000).boxed().toList();
    List<Partition> open = new ArrayList<>(openPartitions(OLD.day(), 1));
    open.addAll(openPartitions(today.day().plusDays(10), 9));
    open.forEach(partition -> census(partition, lanes.size()));

    DuePartitions.Scans scans = duePartitions.of(lanes, world.clock.instant());

    assertThat(scans.isAll()).isFalse();
    assertThat(scans.lanes()).containsKeys(today, OLD, open.get(3)).doesNotContainKey(open.get(4));
    assertThat(scans.lanes().values().stream().mapToInt(List::size).sum())
        .isEqualTo(DuePartitions.MAX_SCANS + lanes.size());
    assertThat(duePartitions.of(List.of(), world.clock.instant()).lanes()).isEmpty();
  }
}
