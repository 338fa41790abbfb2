package carillon.store.stats;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import carillon.model.Slot;
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

class DueSlotsTest {

  private static final Slot OLD = new Slot(LocalDate.of(2020, 1, 1));
  private static final Slot CUTOFF = new Slot(LocalDate.of(2020, 6, 1));

  private World world;
  private StatsReader reader;
  private Backlog backlog;
  private DueSlots dueSlots;
  private Slot today;

  @BeforeEach
  void open() {
    world = World.create();
    world.create(World.task("t", new Target.Pull()));
    reader = new StatsReader(world.db, world.catalog, world.slots, world.clock);
    backlog = new Backlog(world.db, world.catalog, world.slots);
    dueSlots = new DueSlots(world.db, world.slots);
    today = Slot.of(world.clock.instant());
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void census(Slot slot, int lanes) {
    world.sql(
        """
        INSERT INTO carillon.waiting (lane, slot, tasks)
        SELECT lane, DATE '%s', 1 FROM generate_series(1, %d) AS lane
        """
            .formatted(slot.day(), lanes));
  }

  /** Of days from a first one on. */
  private List<Slot> openSlots(LocalDate first, int days) {
    List<Slot> slots = first.datesUntil(first.plusDays(days)).map(Slot::new).toList();
    world.sql(
        """
        INSERT INTO carillon.slot (day, opens_at)
        SELECT DATE '%s' + n, now() FROM generate_series(0, %d) AS n
        """
            .formatted(first, days - 1));
    return slots;
  }

  @Test
  void a_slot_that_was_dropped_since_somebody_read_of_it_has_nothing() {
    openSlots(OLD.day(), 1); // without its tables
    census(OLD, 1);
    world.sql(
        """
        INSERT INTO carillon.claim (id, lease_until, slot, tenants, tasks)
        VALUES (gen_random_uuid(), now(), DATE '2020-01-01', ARRAY[1], ARRAY[gen_random_uuid()])
        """);

    assertThat(reader.due(Set.of(World.TENANT)).get(World.TENANT))
        .extracting(due -> due.types().get("t"))
        .extracting(StatsReader.Due::tasks)
        .isEqualTo(1L);
    assertThat(reader.running(Set.of(World.TENANT)).get(World.TENANT))
        .isEqualTo(new StatsReader.PerType<>(Map.of(), false));
    assertThat(backlog.look(world.clock.instant(), 100).due()).isEqualTo(1);
  }

  @Test
  void whatever_is_read_while_slots_come_and_go_is_an_answer() throws Exception {
    StorageReader storage = new StorageReader(world.db);
    WaitingCounts counts = new WaitingCounts(world.db);
    try (ExecutorService pool = Executors.newSingleThreadExecutor()) {
      Future<Integer> dropped =
          pool.submit(
              () -> {
                int drops = 0;
                for (int rounds = 0; rounds < 40; rounds++) {
                  world.slots.ensure(OLD);
                  world.sql("DELETE FROM carillon.waiting");
                  census(OLD, 1);
                  drops += world.slots.dropBefore(CUTOFF);
                }
                return drops;
              });
      do {
        assertThatCode(
                () -> {
                  reader.due(Set.of(World.TENANT));
                  reader.running(Set.of(World.TENANT));
                  reader.waiting(Set.of(World.TENANT));
                  backlog.look(world.clock.instant(), 100);
                  storage.read();
                  counts.changes();
                  world.tasks.list(World.TENANT, TaskFilter.ALL, 100, null, false);
                })
            .doesNotThrowAnyException();
      } while (!dropped.isDone());
      assertThat(dropped.get()).as("slots dropped meanwhile").isPositive();
    }
  }

  @Test
  void of_old_slots_and_early_ones_only_those_are_looked_at_where_the_census_saw_something() {
    List<Slot> old = openSlots(OLD.day(), 20);
    List<Slot> early = openSlots(today.day().plusDays(10), 200);
    census(old.get(3), 1);
    census(early.get(7), 2);

    DueSlots.Looks looks = dueSlots.of(List.of(1, 2, 3), world.clock.instant());

    assertThat(looks.isAll()).isTrue();
    assertThat(looks.lanes())
        .containsEntry(today, List.of(1, 2, 3))
        .containsEntry(old.get(3), List.of(1))
        .containsEntry(early.get(7), List.of(1, 2))
        .hasSize(3);
  }

  @Test
  void however_many_slots_are_open_so_many_lanes_are_looked_at_the_earliest_first() {
    List<Integer> lanes = IntStream.rangeClosed(1, 5_000).boxed().toList();
    List<Slot> open = new ArrayList<>(openSlots(OLD.day(), 1));
    open.addAll(openSlots(today.day().plusDays(10), 9));
    open.forEach(slot -> census(slot, lanes.size()));

    DueSlots.Looks looks = dueSlots.of(lanes, world.clock.instant());

    assertThat(looks.isAll()).isFalse();
    assertThat(looks.lanes()).containsKeys(today, OLD, open.get(3)).doesNotContainKey(open.get(4));
    assertThat(looks.lanes().values().stream().mapToInt(List::size).sum())
        .isEqualTo(DueSlots.MOST_LOOKS + lanes.size());
    assertThat(dueSlots.of(List.of(), world.clock.instant()).lanes()).isEmpty();
  }
}
