package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.engine.EngineEvent;
import carillon.model.cluster.Term;
import carillon.model.schedule.OverlapRule;
import carillon.store.cluster.Leadership;
import carillon.store.db.Db;
import carillon.store.db.StoreException;
import carillon.store.schedules.Backfill;
import carillon.store.schedules.Backfill.State;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.StoredSchedule;
import carillon.testkit.ScheduleRows;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class BackfillerTest {

  private static final Instant TEN = Instant.parse("2025-10-01T10:00:00Z");

  private World world;
  private ScheduleRows scheduled;
  private Backfiller backfiller;
  private final List<EngineEvent> events = new ArrayList<>();

  @BeforeEach
  void open() {
    world = World.create();
    scheduled = new ScheduleRows(world);
    backfiller = new Backfiller(world.store.backfillSteps(), events::add);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Backfill start(String schedule, int times) {
    var request = new Backfills.Request(TEN, TEN.plusSeconds(times - 1), OverlapRule.ALLOW, false);
    return ((Backfills.Result.Saved) scheduled.backfill(schedule, request)).backfill();
  }

  private Backfill find(Backfill backfill) {
    return world
        .store
        .backfills()
        .find(World.TENANT, backfill.schedule(), backfill.id())
        .orElseThrow();
  }

  @Test
  void a_pass_runs_one_step_of_each_backfill_and_is_repeated_at_once_while_more_remains() {
    scheduled.every("s", 1);
    Backfill large = start("s", 1_500);
    Backfill small = start("s", 10);

    assertThat(backfiller.backfillOnce()).isEqualTo(Duration.ZERO);
    assertThat(find(small).state()).isEqualTo(State.DONE);
    assertThat(find(large).state()).isEqualTo(State.RUNNING);
    assertThat(backfiller.backfillOnce()).isEqualTo(Duration.ofSeconds(1));
    assertThat(find(large).state()).isEqualTo(State.DONE);
    assertThat(backfiller.backfillOnce()).isEqualTo(Duration.ofSeconds(1));
    assertThat(events)
        .containsExactly(
            new EngineEvent.Backfilled(1_000),
            new EngineEvent.Backfilled(0), // its tasks exist already: the backfills overlap
            new EngineEvent.Backfilled(500));
  }

  @Test
  void a_node_that_lost_leadership_leaves_a_backfill_unchanged() {
    scheduled.every("s", 1);
    Backfill ours = start("s", 10);
    Optional<Term> term = new Leadership(world.db).take("node", Duration.ofMinutes(1));
    AtomicInteger termReads = new AtomicInteger();
    Db losesTerm =
        world.db.onlyInTerm(() -> termReads.incrementAndGet() == 2 ? Optional.empty() : term);
    var steps = new BackfillSteps(losesTerm, world.tasks, StoredSchedule::timetable);

    assertThatThrownBy(new Backfiller(steps, events::add)::backfillOnce)
        .isInstanceOfSatisfying(StoreException.class, e -> assertThat(e.isStaleTerm()).isTrue());

    assertThat(termReads).as("reads of the term; postponing would read it again").hasValue(2);
    assertThat(find(ours).state()).isEqualTo(State.RUNNING);
  }

  @Test
  void failing_backfills_do_not_block_the_others() {
    scheduled.every("s", 1);
    scheduled.every("broken", 1);
    world.sql("UPDATE carillon.schedule SET every_ms = NULL, cron = 'x' WHERE name = 'broken'");
    world.sql(
        """
        INSERT INTO carillon.backfill (
            id, tenant, schedule, name, state, from_at, to_at, overlap, times, cursor, due_at, created_at, created_by)
        SELECT gen_random_uuid(), 1, id, name, 'RUNNING', '2025-10-01', '2025-10-02', 'ALLOW', 1, '2025-09-30', now(),
               now() - interval '1 hour', 'others'
        FROM carillon.schedule, generate_series(1, 150)
        WHERE name = 'broken'
        """);
    world.sql("INSERT INTO carillon.tenant (name) VALUES ('others')");
    world.sql(
        "UPDATE carillon.backfill SET tenant = (SELECT id FROM carillon.tenant WHERE name ="
            + " 'others')");
    Backfill ours = start("s", 10);

    for (int pass = 0; pass < 2; pass++) {
      assertThat(backfiller.backfillOnce()).isEqualTo(Duration.ofSeconds(1));
    }

    assertThat(find(ours).state()).isEqualTo(State.DONE);
    assertThat(world.value("SELECT count(*) FROM carillon.backfill WHERE state = 'RUNNING'"))
        .isEqualTo("150");
  }
}
