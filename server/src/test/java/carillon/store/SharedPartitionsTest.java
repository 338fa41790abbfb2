package carillon.store;

import static java.util.Comparator.comparing;
import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.schedule.OverlapRule;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.DayRange;
import carillon.model.task.NewTask;
import carillon.model.task.TaskState;
import carillon.store.db.Tx;
import carillon.store.queue.Agenda;
import carillon.store.schedules.Backfills;
import carillon.store.tasks.BulkResult;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskPatch;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.testkit.ScheduleRows;
import carillon.testkit.SqlUser;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tasks far ahead lie in few partitions, however they are spread, and behave like all others. */
@Tag("slow")
class SharedPartitionsTest {

  private static final int FIVE_YEARS = 5 * 365;

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Instant inDays(int days) {
    return world.clock.instant().plus(Duration.ofDays(days));
  }

  private static NewTask due(Instant dueAt) {
    return World.task("t", new Target.Pull(), dueAt);
  }

  private List<NewTask> everyDay(int days, @Nullable String key) {
    return IntStream.range(0, days)
        .mapToObj(
            day ->
                TestTask.of("t")
                    .key(key)
                    .dueAt(inDays(day))
                    .payload("{}")
                    .target(new Target.Pull())
                    .build())
        .toList();
  }

  private List<TaskId> createAll(List<NewTask> tasks) {
    return ((Tasks.BatchResult.Created)
            world.db.inTransaction(tx -> world.tasks.createAll(tx, World.TENANT, tasks)))
        .ids();
  }

  private int count(String table) {
    return Integer.parseInt(world.value("SELECT count(*) FROM " + table));
  }

  private int partitions() {
    return count("carillon.partition");
  }

  private static TaskFilter due(@Nullable Instant after, @Nullable Instant before) {
    return new TaskFilter(null, null, null, null, after, before, null, Map.of());
  }

  private List<TaskView> list(TaskFilter filter) {
    List<TaskView> tasks = new ArrayList<>();
    TaskId before = null;
    do {
      var page = world.tasks.list(World.TENANT, filter, 100, before, false);
      tasks.addAll(page.items());
      before = page.next();
    } while (before != null);
    return tasks;
  }

  @Test
  void a_task_on_every_day_of_five_years_needs_a_bounded_number_of_partitions() {
    List<TaskId> ids = createAll(everyDay(FIVE_YEARS, null));

    assertThat(partitions()).isLessThanOrEqualTo(54);
    assertThat(count("pg_class WHERE relnamespace = 'carillon'::regnamespace"))
        .isLessThan(54 * 12 + 200);
    assertThat(count("carillon.task")).isEqualTo(FIVE_YEARS);
    assertThat(ids).allSatisfy(id -> assertThat(world.tasks.find(World.TENANT, id)).isPresent());
  }

  @Test
  void creating_tasks_far_ahead_adds_no_partition_per_day() throws Exception {
    world.partitions.ensure(Partition.of(world.clock.instant()));
    DayRange.quarters(world.clock.instant()).forEach(world.partitions::ensure); // like the janitor
    int before = partitions();
    for (int day = 300; day < 310; day++) {
      world.create(due(inDays(day)));
      NewTask task = due(inDays(day));
      world.db.inTransaction(tx -> world.tasks.create(tx, World.TENANT, task));
    }
    assertThat(partitions()).isLessThanOrEqualTo(before + 2);

    int withMonths = partitions();
    try (SqlUser user = SqlUser.owner(world.address)) {
      for (int day = 1; day < 730; day += 7) {
        user.enqueue("'sql', delay => interval '%d days'".formatted(day));
      }
    }
    ScheduleRows scheduled = new ScheduleRows(world);
    scheduled.every("s", 86_400);
    Instant end = world.clock.instant().minus(Duration.ofDays(1));
    var request =
        new Backfills.Request(end.minus(Duration.ofDays(700)), end, OverlapRule.ALLOW, false);
    var backfill = ((Backfills.Result.Saved) scheduled.backfill("s", request)).backfill();
    int steps = 0;
    while (!world.store.backfillSteps().take(backfill.id()).isOver()) {
      steps++;
    }
    assertThat(steps).isLessThan(100);
    assertThat(count("carillon.task WHERE schedule = 's'")).isGreaterThan(600);
    assertThat(partitions()).isLessThanOrEqualTo(withMonths + 1); // one more around midnight
  }

  @Test
  void a_task_enqueued_in_sql_lies_in_the_shared_partition_of_its_due_day() throws SQLException {
    world.partitions.ensure(Partition.of(world.clock.instant()));
    DayRange.quarters(world.clock.instant()).forEach(world.partitions::ensure);
    try (SqlUser user = SqlUser.owner(world.address)) {
      Instant last = Instant.EPOCH;
      for (int day = 93; day < 730; day += 10) {
        TaskId id =
            TaskId.parse(user.enqueue("'sql', delay => interval '%d days'".formatted(day)))
                .orElseThrow();
        TaskView task = world.find(id);
        LocalDate dueDay = Partition.of(task.dueAt()).day();
        DayRange range =
            DayRange.quarters(world.clock.instant()).stream()
                .filter(quarter -> quarter.partition().equals(id.partition()))
                .findFirst()
                .orElseThrow();

        assertThat(dueDay).isBetween(range.first(), range.last());
        Instant idTime = Instant.ofEpochMilli(id.value().getMostSignificantBits() >>> 16);
        assertThat(idTime).isEqualTo(range.idTime(task.dueAt())).isAfter(last);
        last = idTime;
      }
    }
  }

  @Test
  void a_task_far_ahead_is_found_listed_edited_and_cancelled_like_any_other() {
    List<TaskId> ids = createAll(everyDay(400, null));
    Instant from = inDays(150).minusSeconds(60);
    Instant to = inDays(160).minusSeconds(60);

    assertThat(list(due(from, to)))
        .extracting(TaskView::id)
        .containsExactlyElementsOf(ids.subList(150, 160).reversed());
    assertThat(list(due(null, to))).hasSize(160);
    assertThat(list(due(from, null))).hasSize(250);
    assertThat(list(TaskFilter.ALL))
        .hasSize(400)
        .isSortedAccordingTo(comparing((TaskView task) -> task.id().toString()).reversed());
    // Where no day has a partition of its own, the order of ids is the order of due times.
    assertThat(list(due(inDays(70), inDays(330))))
        .isSortedAccordingTo(comparing(TaskView::dueAt).reversed());

    TaskId id = ids.get(200);
    TaskPatch patch = new TaskPatch(inDays(210), null, null, null, null, null);
    world.db.inTransaction(tx -> world.tasks.patch(tx, World.TENANT, id, patch, "test", null));
    assertThat(world.find(id).dueAt()).isAfter(inDays(209));
    assertThat(list(due(inDays(209), inDays(211)))).hasSize(3).anyMatch(t -> t.id().equals(id));

    assertThat(world.cancel(id)).isInstanceOf(ChangeResult.Changed.class);
    assertThat(world.state(id)).isEqualTo(TaskState.CANCELLED);
    assertThat(world.tasks.story(World.TENANT, id).orElseThrow().transitions()).hasSize(1);
  }

  @Test
  void a_task_far_ahead_can_be_made_due_now() {
    world.node("node");
    TaskId id = world.create(due(inDays(300)));
    assertThat(world.claim("node", 1)).isEmpty();

    world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, id, "test", null));

    assertThat(world.claimOne("node").id()).isEqualTo(id);
  }

  /** Moves a task to the partition that it would have if it had been created 200 days earlier. */
  private TaskId createdLongAgo(Instant dueAt) {
    DayRange days = DayRange.of(dueAt, dueAt.minus(Duration.ofDays(200)));
    world.partitions.ensure(days);
    TaskId recent = world.create(due(dueAt));
    String recentPartition = recent.partition().suffix();
    String id = TaskId.at(days.idTime(dueAt), new Random()).toString();
    world.sql(
        """
        WITH moved AS (DELETE FROM carillon.task_%s WHERE id = '%s' RETURNING *)
        INSERT INTO carillon.task_%s (tenant, id, partition, lane, ready_at, due_at, created_at, payload, target)
        SELECT tenant, '%s', DATE '%s', lane, ready_at, due_at, created_at, payload, target FROM moved
        """
            .formatted(recentPartition, recent, days.partition().suffix(), id, days.first()));
    world.requeue();
    return TaskId.parse(id).orElseThrow();
  }

  @Test
  void every_sweep_reads_the_shared_partition_of_today() {
    world.catalog.refresh();
    world.sweep(); // the first sweep reads all partitions
    Instant soon = world.clock.instant().plusSeconds(30);
    world.partitions.ensure(DayRange.of(soon, soon.minus(Duration.ofDays(200))));
    world.sweep(); // so does the first one after a partition was created
    TaskId id = createdLongAgo(soon);
    Instant dueAt = world.find(id).dueAt();
    world.agenda.takeDue(inDays(1), _ -> true);

    world.sweep();

    assertThat(world.agenda.earliest(_ -> true)).isBetween(dueAt, dueAt.plusMillis(1));
    assertThat(world.agenda.takeDue(inDays(1), _ -> true))
        .extracting(Agenda.Entry::partition)
        .containsExactly(id.partition());
  }

  @Test
  void a_task_in_a_shared_partition_starts_when_it_is_due() {
    world.node("node");
    TaskId id = createdLongAgo(world.clock.instant().plusMillis(700));
    world.sweep();
    assertThat(world.agenda.earliest(_ -> true)).isNotNull();

    ClaimedTask claimed = world.claimOne("node");

    assertThat(claimed.id()).isEqualTo(id);
    assertThat(world.find(id).startedAt())
        .isBetween(claimed.dueAt(), claimed.dueAt().plusSeconds(2));
  }

  @Test
  void a_shared_partition_is_kept_until_its_last_day_expires() {
    LocalDate first = LocalDate.of(2020, 1, 1);
    world.partitions.ensure(new DayRange(first, first.plusMonths(1).minusDays(1)));
    world.partitions.ensure(new DayRange(first, first.plusMonths(3).minusDays(1)));
    world.partitions.ensure(new Partition(first));

    assertThat(world.partitions.dropBefore(new Partition(LocalDate.of(2020, 3, 31)))).isZero();
    assertThat(world.partitions.dropBefore(new Partition(LocalDate.of(2020, 4, 1)))).isEqualTo(1);
  }

  @Test
  void a_partition_with_a_pending_task_is_never_dropped() {
    TaskId id = world.create(due(inDays(100)));

    assertThat(world.partitions.dropBefore(Partition.of(inDays(1_000)))).isZero();
    assertThat(world.state(id)).isEqualTo(TaskState.PENDING);
  }

  @Test
  void nodes_that_need_the_same_shared_partition_create_it_once() throws Exception {
    Instant dueAt =
        LocalDate.ofInstant(inDays(400), ZoneOffset.UTC).atTime(12, 0).toInstant(ZoneOffset.UTC);
    List<World> nodes =
        List.of(world, world.anotherProcess(), world.anotherProcess(), world.anotherProcess());
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Callable<TaskId>> creates = new ArrayList<>();
      for (int each = 0; each < 40; each++) {
        World node = nodes.get(each % nodes.size());
        creates.add(() -> node.create(due(dueAt)));
      }
      for (Future<TaskId> created : threads.invokeAll(creates)) {
        assertThat(world.state(created.get())).isEqualTo(TaskState.PENDING);
      }
    } finally {
      nodes.subList(1, nodes.size()).forEach(World::close);
    }

    DayRange days = DayRange.of(dueAt, world.clock.instant());
    assertThat(world.value("SELECT day || ' ' || last_day FROM carillon.partition"))
        .isEqualTo(days.first() + " " + days.last());
    assertThat(partitions()).isEqualTo(1);
  }

  @Test
  void tasks_far_ahead_do_not_slow_down_claims_and_sweeps() {
    world.countStatements();
    world.node("node");
    double before = pagesOfSweepsAndClaims();
    List<NewTask> tasks = new ArrayList<>();
    for (int task = 0; task < 10_000; task++) {
      tasks.add(due(inDays(33).plus(Duration.ofMinutes(260L * task))));
    }
    createAll(tasks);
    assertThat(partitions()).isLessThanOrEqualTo(1 + 13 + 5 + 4);

    assertThat(pagesOfSweepsAndClaims()).isLessThan(before * 1.5 + 50);
  }

  /** The pages read by 20 sweeps and 20 claims of one task each. */
  private double pagesOfSweepsAndClaims() {
    world.discard();
    world.catalog.refresh();
    world.sql("SELECT pg_stat_statements_reset()");
    for (int round = 0; round < 20; round++) {
      world.sweep();
      world.discard();
      world.claimOne("node");
    }
    return Double.parseDouble(
        world.value(
            """
            SELECT sum(shared_blks_hit + shared_blks_read)
            FROM pg_stat_statements s
            JOIN pg_database d ON d.oid = s.dbid
            WHERE d.datname = current_database()
              AND (strpos(s.query, 'RECURSIVE head') > 0 OR strpos(s.query, 'SKIP LOCKED') > 0)
            """));
  }

  private static final String LOCKED =
      """
      /* SharedPartitionsTest.locked */
      SELECT count(*) AS locks
      FROM pg_locks
      WHERE pid = pg_backend_pid()
        AND locktype = 'relation'
      """;

  /** The most relations that a transaction has locked after this work, over several runs. */
  private int locks(Consumer<Tx> work) {
    int max = 0;
    for (int round = 0; round < 6; round++) {
      max =
          Math.max(
              max,
              world.db.inTransaction(
                  tx -> {
                    work.accept(tx);
                    return tx.query(LOCKED, row -> row.getInt("locks")).getFirst();
                  }));
    }
    return max;
  }

  @Test
  void an_operation_on_one_task_locks_only_its_partition() {
    List<TaskId> ids = createAll(everyDay(FIVE_YEARS, null));
    TaskReader reader = new TaskReader(world.db, world.catalog);
    TaskId id = ids.getFirst();

    assertThat(locks(tx -> reader.find(tx, World.TENANT, id))).as("find").isLessThan(20);
    assertThat(
            locks(
                tx ->
                    world.tasks.patch(
                        tx,
                        World.TENANT,
                        id,
                        new TaskPatch(inDays(1), null, null, null, null, null),
                        "test",
                        null)))
        .as("edit")
        .isLessThan(40);
    assertThat(locks(tx -> world.tasks.cancel(tx, World.TENANT, id, "test", null)))
        .as("cancel")
        .isLessThan(40);
  }

  @Test
  void an_operation_on_all_partitions_releases_its_locks() {
    createAll(everyDay(FIVE_YEARS, "k"));
    TaskFilter byKey = new TaskFilter("t", null, "none", null, null, null, null, Map.of());
    TaskFilter byType = new TaskFilter("t", null, null, null, null, null, "none", Map.of());

    for (TaskFilter filter : List.of(byKey, byType)) {
      assertThat(locks(tx -> world.tasks.countCancellable(tx, World.TENANT, filter)))
          .as("dry run")
          .isLessThan(40);
      assertThat(locks(tx -> world.tasks.cancelMatching(tx, World.TENANT, filter, null, "test")))
          .as("cancel")
          .isLessThan(40);
    }
    TaskFilter all = new TaskFilter("t", null, "k", null, null, null, null, Map.of());
    Tasks.Count matched =
        world.db.inTransaction(tx -> world.tasks.countCancellable(tx, World.TENANT, all));
    BulkResult cancelled =
        world.db.inTransaction(
            tx -> world.tasks.cancelMatching(tx, World.TENANT, all, null, "test"));
    assertThat(matched).isEqualTo(new Tasks.Count(FIVE_YEARS, false));
    assertThat(cancelled.tasks()).isEqualTo(FIVE_YEARS);
  }
}
