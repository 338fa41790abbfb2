package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import carillon.engine.EngineEvent;
import carillon.model.TaskId;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Term;
import carillon.model.target.Target;
import carillon.model.task.TaskState;
import carillon.store.Memory;
import carillon.store.cluster.Leadership;
import carillon.store.db.Db;
import carillon.testkit.TestSchedule;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Only the leader runs the loops of upkeep. */
class UpkeepTest {

  private static final Duration RETENTION = Duration.ofDays(30);
  private static final Duration A_SECOND = Duration.ofSeconds(1);
  private static final int LOOPS = 8;
  private static final String NOTHING_DONE = "RUNNING PENDING 0 1";
  private static final String ALL_DONE = "PENDING EXPIRED 1 0";

  @TempDir Path directory;

  private final AtomicReference<Optional<Term>> term = new AtomicReference<>(Optional.empty());
  private final AtomicReference<String> name = new AtomicReference<>("node");
  private final Set<String> termReaders = ConcurrentHashMap.newKeySet(); // names of loops
  private final Set<String> leaseReaders = ConcurrentHashMap.newKeySet();
  private World world;
  private Leadership leadership;
  private Db leaderDb;
  private TaskId running;
  private TaskId late;

  @BeforeEach
  void open() {
    world = World.create();
    leadership = new Leadership(world.db);
    leaderDb = world.db.onlyInTerm(term::get);
    world.node("node");
    running = world.create(World.task("t", new Target.Pull()));
    world.node("dead");
    world.claimOne("dead");
    late =
        world.create(TestTask.of("t").target(new Target.Pull()).ttl(Duration.ofMillis(1)).build());
    world.sql("SELECT carillon.create_partition(DATE '2020-01-01')");
    TestSchedule.every("s", Duration.ofSeconds(10)).insert(world, world.clock.instant());
    world.sql("UPDATE carillon.node SET lease_until = now() - interval '1 s' WHERE id = 'dead'");
    await()
        .until(
            () ->
                world
                    .value(
                        "SELECT bool_and(expires_at IS NULL OR expires_at < now()) FROM"
                            + " carillon.task")
                    .equals("t"));
  }

  @AfterEach
  void close() {
    world.close();
  }

  private Upkeep start(Duration followerInterval) {
    return start(followerInterval, _ -> {});
  }

  /**
   * @param followerInterval how often a loop of a follower checks whether it leads
   */
  private Upkeep start(Duration followerInterval, Consumer<EngineEvent> events) {
    return Upkeep.start(
        world.storeOn(leaderDb, new Memory.Settings(null, RETENTION)),
        () -> {
          var lease = NodeLease.renewed(name.get(), System.nanoTime(), Duration.ofMinutes(1));
          leaseReaders.add(Thread.currentThread().getName());
          return lease;
        },
        () -> {
          Optional<Term> now = term.get();
          termReaders.add(Thread.currentThread().getName());
          return now;
        },
        new Upkeep.Settings(RETENTION, RETENTION, directory, _ -> "{}"),
        3,
        followerInterval,
        events);
  }

  /** Shows whether the reaper, the expirer, the planner and the janitor have run. */
  private String progress() {
    return "%s %s %s %s"
        .formatted(
            world.state(running),
            world.state(late),
            world.value("SELECT sign(count(*)) FROM carillon.schedule_fire"),
            world.value("SELECT count(*) FROM carillon.partition WHERE day < '2021-01-01'"));
  }

  @ParameterizedTest
  @CsvSource({"Expired, expirer", "Reaped, reaper", "Fired, cron-planner"})
  void a_stuck_loop_is_reported_until_it_recovers(String event, String loop) {
    CountDownLatch release = new CountDownLatch(1);
    term.set(leadership.take("node", Duration.ofMinutes(1)));
    try (Upkeep upkeep = start(Duration.ofHours(1), each -> blockOn(each, event, release))) {
      assertThat(upkeep.stuckFor(Duration.ofMinutes(1))).isEmpty();
      String isStuck = "loop " + loop + " is stuck";
      try {
        await().until(() -> upkeep.stuckFor(Duration.ofMillis(300)).equals(Optional.of(isStuck)));
      } finally {
        release.countDown();
      }

      await().until(() -> upkeep.stuckFor(Duration.ofMillis(300)).isEmpty());
    }
  }

  private static void blockOn(EngineEvent each, String event, CountDownLatch release) {
    if (each.getClass().getSimpleName().equals(event)) {
      try {
        release.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Test
  void a_follower_does_nothing_until_it_leads_and_then_starts_at_once() {
    try (Upkeep upkeep = start(Duration.ofHours(1))) {
      await().until(() -> termReaders.size() == LOOPS);
      assertThat(progress()).isEqualTo(NOTHING_DONE);

      term.set(leadership.take("node", Duration.ofMinutes(1)));
      upkeep.takeOver();

      await().until(() -> progress().equals(ALL_DONE));
      assertThat(leaderDb.staleTerms()).isZero();
    }
  }

  @Test
  void a_leader_of_an_old_term_does_nothing() {
    term.set(leadership.take("node", Duration.ofMinutes(1)));
    world.sql("UPDATE carillon.leadership SET lease_until = now()");
    assertThat(leadership.take("other", Duration.ofMinutes(1))).isPresent();

    try (Upkeep _ = start(A_SECOND)) {
      await().until(() -> leaderDb.staleTerms() >= LOOPS);
      assertThat(progress()).isEqualTo(NOTHING_DONE);
    }
  }

  @Test
  void a_leader_that_has_just_reconnected_waits_before_it_reaps_other_nodes() {
    try (Upkeep upkeep = start(A_SECOND)) {
      await().until(() -> leaseReaders.contains("reaper")); // and knows the name of its node
      long cutOff = System.nanoTime();
      name.set("node-again");
      world.node("node-again");
      term.set(leadership.take("node-again", Duration.ofMinutes(1)));
      upkeep.takeOver();

      await().until(() -> world.state(running) == TaskState.PENDING);
      assertThat(Duration.ofNanos(System.nanoTime() - cutOff))
          .isGreaterThan(Reaper.RECONNECT_TIMEOUT);
    }
  }
}
