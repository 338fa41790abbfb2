package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.model.Signal;
import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Delivery;
import carillon.model.task.DeliveryResult;
import carillon.model.task.NewTask;
import carillon.store.db.StoreException;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Many threads create tasks that start immediately, while the claimer claims others. */
@Tag("slow")
class ImmediateStartRaceTest {

  private static final int THREADS = 64;
  private static final int TASKS_PER_THREAD = 30;
  private static final int TYPES = 16;
  private static final int SEATS = 20;
  private static final Duration PAUSE = Duration.ofMillis(200);
  private static final Duration TIMEOUT = Duration.ofSeconds(60);
  private static final Target HTTP =
      new Target.Http("https://example.com/", "POST", Map.of(), null, null);

  private final Signal freed = new Signal();
  private final Seats seats = new Seats(SEATS, SEATS, SEATS / 4, freed);
  private final Map<TaskId, Integer> deliveries = new ConcurrentHashMap<>();
  private final AtomicInteger running = new AtomicInteger();
  private final AtomicInteger mostRunning = new AtomicInteger();
  private final AtomicInteger immediateStarts = new AtomicInteger();
  private final AtomicInteger failures = new AtomicInteger();
  private final Set<TaskId> created = ConcurrentHashMap.newKeySet();
  private final AtomicInteger refused = new AtomicInteger();
  private World world;
  private ManualNode node;
  private List<Loop> loops;

  @BeforeEach
  void open() {
    world = World.create();
    node = new ManualNode(world, "node", this::deliver, this::count);
    Claimer claimer = node.claimer(seats);
    var lostClaims =
        new LostClaims(
            world.store.claims(),
            node.lease,
            node.openClaims::isKnown,
            new ReapDecision(world.clock, 3),
            _ -> {});
    Loop claiming = Loop.of("claimer", claimer::claimOnce, _ -> failures.incrementAndGet());
    freed.add(claiming::wake);
    world.signals.workDue().add(claiming::wake);
    Loop completing =
        new Loop(
            "completer",
            () -> {
              node.completer.flushOnce();
              return Duration.ofMillis(2);
            },
            _ -> failures.incrementAndGet());
    Loop finding = Loop.of("lost-claims", lostClaims::findOnce, _ -> failures.incrementAndGet());
    loops = List.of(claiming, completing, finding);
    loops.forEach(Loop::start);
    world.tasks.claimImmediately(claimer);
  }

  @AfterEach
  void close() {
    loops.forEach(Loop::close);
    node.close();
    world.close();
  }

  private Delivery deliver(ClaimedTask task) {
    mostRunning.accumulateAndGet(running.incrementAndGet(), Math::max);
    deliveries.merge(task.id(), 1, Integer::sum);
    LockSupport.parkNanos(1_000_000);
    running.decrementAndGet();
    return Delivery.unsent(new DeliveryResult.Accepted(200, null));
  }

  private void count(EngineEvent event) {
    if (event instanceof EngineEvent.StartedImmediately(int tasks)) {
      immediateStarts.addAndGet(tasks);
    }
  }

  /** Creates tasks of many lanes: most of them due at once, the others a little later. */
  private void createInThreads() throws InterruptedException, ExecutionException {
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<? extends Future<?>> creators =
          IntStream.range(0, THREADS)
              .mapToObj(thread -> threads.submit(() -> create(new Random(thread))))
              .toList();
      for (Future<?> creator : creators) {
        creator.get();
      }
    }
  }

  private void create(Random random) {
    for (int i = 0; i < TASKS_PER_THREAD; i++) {
      LockSupport.parkNanos(random.nextLong(PAUSE.toNanos()));
      Duration delay = random.nextInt(4) > 0 ? null : Duration.ofMillis(random.nextInt(50));
      TestTask task = TestTask.of("t" + random.nextInt(TYPES)).payload("{}").target(HTTP);
      NewTask due = delay == null ? task.build() : task.delay(delay).build();
      try {
        created.add(world.create(due));
      } catch (StoreException e) {
        refused.incrementAndGet();
      }
    }
  }

  private int rows(String from) {
    return Integer.parseInt(world.value("SELECT count(*) FROM " + from));
  }

  private void awaitAllCompleted() {
    await().atMost(TIMEOUT).until(() -> rows("carillon.task WHERE state <> 'COMPLETED'") == 0);
    await().until(() -> seats.running() + seats.waitingToBeSaved() == 0);
  }

  private void assertNoSeatIsLost() {
    assertThat(mostRunning).hasValueLessThanOrEqualTo(SEATS);
    assertThat(seats.free()).isEqualTo(SEATS);
    assertThat(rows("carillon.claim")).isZero();
    assertThat(rows("carillon.queue")).isZero();
  }

  @Test
  void each_task_is_run_once_and_no_seat_is_lost() throws Exception {
    createInThreads();
    awaitAllCompleted();

    int all = THREADS * TASKS_PER_THREAD;
    System.out.printf(
        "immediate start: %d of %d tasks started immediately, at most %d at a time%n",
        immediateStarts.get(), all, mostRunning.get());
    assertThat(created).hasSize(all);
    assertThat(refused).hasValue(0);
    assertThat(failures).hasValue(0);
    assertThat(immediateStarts.get()).isBetween(1, all - 1);
    assertThat(deliveries.keySet()).isEqualTo(created);
    assertThat(deliveries.values()).containsOnly(1);
    assertThat(world.value("SELECT max(fence) || ' ' || max(attempt) FROM carillon.task"))
        .isEqualTo("1 1");
    assertNoSeatIsLost();
  }

  @Test
  void no_seat_is_lost_when_claims_and_creations_fail() throws Exception {
    world.sql(
        """
        CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF random() < 0.3 THEN
                RAISE EXCEPTION 'no';
            END IF;
            RETURN NULL;
        END $$;
        CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON carillon.claim
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail()
        """);

    createInThreads();
    world.sql("DROP TRIGGER fail ON carillon.claim");
    awaitAllCompleted();

    System.out.printf(
        "immediate start: %d creations and %d passes failed, %d tasks started immediately%n",
        refused.get(), failures.get(), immediateStarts.get());
    assertThat(refused).hasPositiveValue();
    assertThat(failures).hasPositiveValue();
    assertThat(immediateStarts).hasPositiveValue();
    assertThat(rows("carillon.task")).isEqualTo(created.size());
    assertThat(deliveries.keySet()).isEqualTo(created);
    assertThat(deliveries.values()).containsOnly(1);
    assertNoSeatIsLost();
  }
}
