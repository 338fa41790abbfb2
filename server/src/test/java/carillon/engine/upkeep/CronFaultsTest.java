package carillon.engine.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Signals;
import carillon.model.TaskId;
import carillon.model.cluster.Term;
import carillon.model.schedule.FireHash;
import carillon.store.Memory;
import carillon.store.Store;
import carillon.store.cluster.Leadership;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.StoreException;
import carillon.store.schedules.StoredSchedule;
import carillon.testkit.OwnPostgres;
import carillon.testkit.Postgres;
import carillon.testkit.TestSchedule;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Three planners run 100 schedules for six minutes of injected time, with seeded faults: sessions
 * end between any two statements and at the commit, planners continue with an old time or in an old
 * term, the clock jumps, the database restarts. The test computes the expected fires, and each has
 * one task.
 *
 * <p>Triggers end the sessions: every trigger increments a sequence, which no rollback reverts, and
 * the one that reaches a certain number ends its own session.
 */
@Tag("slow")
class CronFaultsTest {

  private static final int SCHEDULES = 100;
  private static final int PLANNERS = 3;
  private static final Duration RUN = Duration.ofMinutes(6);
  private static final int FATAL_STEP = 1_000_000;

  /** Whether a planner must prove that it leads. Without proof all of them plan. */
  enum Mode {
    TERMS,
    EVERYONE_LEADS
  }

  @TempDir Path directory;

  private final ExecutorService threads = Executors.newFixedThreadPool(PLANNERS);
  private final List<Node> nodes = new ArrayList<>();
  private volatile Instant now = Instant.EPOCH;
  private int faults;

  /** A planner with its own connection pools, as in a separate process. Its clock can be frozen. */
  private final class Node implements InstantSource, AutoCloseable {
    private final Db.Address address;
    private final Db db;
    private final Db leaderDb;
    private final Db catalogDb;
    private final CronPlanner planner;
    private volatile @Nullable Instant frozenAt;
    private volatile Optional<Term> believedTerm = Optional.empty();

    Node(Db.Address address, Mode mode) {
      this.address = address;
      db = Db.open(address, "planner", 2);
      leaderDb = mode == Mode.TERMS ? db.onlyInTerm(() -> believedTerm) : db;
      catalogDb = Db.open(address, "catalog", 2);
      DbClock clock = new DbClock(InstantSource.system());
      var settings = new Memory.Settings(null, Duration.ofDays(30));
      Memory memory = Memory.load(catalogDb, db, clock, settings, Signals.create());
      planner =
          new CronPlanner(
              Store.on(leaderDb, memory).dueSchedules(), StoredSchedule::timetable, this, _ -> {});
    }

    @Override
    public Instant instant() {
      Instant frozen = frozenAt;
      return frozen == null ? now : frozen;
    }

    /** Repeats failed passes, as the loop does. */
    void plan() {
      try {
        while (planner.planOnce().isZero()) {
          // There may be more.
        }
      } catch (StoreException e) {
        assertThat(e.isUnavailable() || e.isBusy() || e.isStaleTerm()).as(e.toString()).isTrue();
      }
    }

    /** Takes the lead from another planner, which continues to believe that it leads. */
    void takeOver() {
      try {
        execute(address, "UPDATE carillon.leadership SET lease_until = '-infinity'");
        believedTerm = new Leadership(db).take("planner", Duration.ofMinutes(10));
      } catch (StoreException e) {
        assertThat(e.isUnavailable() || e.isBusy()).as(e.toString()).isTrue();
      }
    }

    @Override
    public void close() {
      db.close();
      catalogDb.close();
    }
  }

  @ParameterizedTest
  @CsvSource({"1, TERMS", "2, EVERYONE_LEADS", "3, EVERYONE_LEADS"})
  void every_nominal_time_has_one_fire_and_one_task_whatever_fails(long seed, Mode mode)
      throws Exception {
    try (OwnPostgres postgres = new OwnPostgres(directory)) {
      Db.Address address = postgres.address();
      Instant start =
          Instant.now().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofMinutes(2 * 1_440 + 5));
      now = start;
      prepare(address, start);
      for (int i = 0; i < PLANNERS; i++) {
        nodes.add(new Node(address, mode));
        nodes.getLast().takeOver();
      }

      Instant end = run(postgres, start, new Random(seed));

      check(address, start, end.plus(Duration.ofSeconds(30)));
      assertThat(faults).as("faults").isGreaterThan(30);
      if (mode == Mode.TERMS) {
        assertThat(nodes.stream().mapToLong(node -> node.leaderDb.staleTerms()).sum())
            .as("transactions in an old term")
            .isGreaterThan(30);
      }
    } finally {
      nodes.forEach(Node::close);
      threads.shutdown();
    }
  }

  private static void prepare(Db.Address address, Instant start) {
    execute(
        address,
        "CREATE SEQUENCE carillon.steps",
        """
        CREATE FUNCTION carillon.die() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('carillon.steps') = %d THEN
                PERFORM pg_terminate_backend(pg_backend_pid());
                PERFORM pg_sleep(5); -- not reached: the session ends first
            END IF;
            RETURN NULL;
        END
        $$
        """
            .formatted(FATAL_STEP),
        "CREATE TRIGGER die AFTER INSERT OR UPDATE ON carillon.schedule_fire FOR EACH STATEMENT"
            + " EXECUTE FUNCTION carillon.die()",
        "CREATE TRIGGER die BEFORE UPDATE ON carillon.schedule FOR EACH STATEMENT"
            + " EXECUTE FUNCTION carillon.die()",
        "CREATE TRIGGER die_after AFTER UPDATE ON carillon.schedule FOR EACH STATEMENT"
            + " EXECUTE FUNCTION carillon.die()",
        "CREATE TRIGGER die AFTER INSERT ON carillon.task FOR EACH ROW"
            + " EXECUTE FUNCTION carillon.die()",
        "CREATE CONSTRAINT TRIGGER die_at_commit AFTER UPDATE ON carillon.schedule"
            + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION carillon.die()");
    String[] schedules = new String[SCHEDULES];
    for (int i = 0; i < SCHEDULES; i++) {
      schedules[i] =
          TestSchedule.every("s" + i, interval(i))
              .with("anchor", start.plusSeconds(i))
              .with("catch_up", i % 4 == 0 ? "NONE" : "ALL")
              .with("catch_up_limit", 1_000)
              .createdAt(start)
              .sql();
    }
    execute(address, schedules);
  }

  private static Duration interval(int schedule) {
    return Duration.ofSeconds(4 + schedule % 4);
  }

  /** Runs with faults, then plans the rest without faults and returns the time up to which. */
  private Instant run(OwnPostgres postgres, Instant start, Random random)
      throws IOException, InterruptedException, ExecutionException {
    Instant latest = start;
    int round = 0;
    for (Duration elapsed = Duration.ZERO; elapsed.compareTo(RUN) < 0; round++) {
      Duration step = Duration.ofMillis(1_000 + random.nextInt(8_000));
      elapsed = elapsed.plus(step);
      now = now.plus(step);
      fault(postgres, random, round);
      latest = now.isAfter(latest) ? now : latest;
      List<Future<?>> passes = new ArrayList<>();
      nodes.forEach(node -> passes.add(threads.submit(node::plan)));
      if (random.nextInt(4) == 0) { // in the middle of their passes
        faults++;
        nodes.get(random.nextInt(PLANNERS)).takeOver();
      }
      if (round % 40 == 20) { // in the middle of their passes
        faults++;
        postgres.restart(random.nextBoolean() ? OwnPostgres.Stop.FAST : OwnPostgres.Stop.IMMEDIATE);
      } else if (random.nextInt(8) == 0) {
        faults++;
        endAllSessions(postgres.address());
      }
      for (Future<?> pass : passes) {
        pass.get();
      }
      complete(postgres.address(), random);
    }
    Instant end = latest.plusSeconds(100);
    now = end;
    nodes.forEach(node -> node.frozenAt = null);
    execute(postgres.address(), "SELECT setval('carillon.steps', 1)");
    for (int i = 0; i < 3; i++) {
      nodes.getFirst().takeOver();
      nodes.forEach(Node::plan); // may fail once if all its connections are broken
    }
    return end;
  }

  private void fault(OwnPostgres postgres, Random random, int round) {
    nodes.forEach(node -> node.frozenAt = random.nextInt(10) == 0 ? node.frozenAt : null);
    switch (random.nextInt(8)) {
      case 0, 1, 2 -> {
        faults++;
        int steps = 1 + random.nextInt(200);
        execute(
            postgres.address(), "SELECT setval('carillon.steps', " + (FATAL_STEP - steps) + ")");
      }
      case 3 -> {
        faults++;
        nodes.get(random.nextInt(PLANNERS)).frozenAt = now.minusSeconds(random.nextInt(400));
      }
      case 4 -> {
        if (round % 3 == 0) {
          faults++;
          now = random.nextBoolean() ? now.plusSeconds(90) : now.minusSeconds(90);
        }
      }
      default -> {}
    }
  }

  private static void endAllSessions(Db.Address address) {
    execute(
        address,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE"
            + " 'carillon/planner%'");
  }

  /** Completes some of the due tasks directly, as attempts would. */
  private void complete(Db.Address address, Random random) {
    execute(
        address,
        """
        WITH ended AS (
            UPDATE carillon.task
            SET state = 'COMPLETED',
                ready_at = NULL,
                finished_at = now()
            WHERE state = 'PENDING'
              AND due_at <= '%s'
              AND hashtext(id::text) %% 3 = %d
            RETURNING id
        )
        DELETE FROM carillon.queue
        WHERE id IN (SELECT id FROM ended)
        """
            .formatted(now, random.nextInt(3)));
  }

  private static void check(Db.Address address, Instant start, Instant end) {
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < SCHEDULES; i++) {
      Instant at = start.plusSeconds(i);
      if (!at.isAfter(start)) {
        at = at.plus(interval(i)); // a schedule does not fire at the time of its creation
      }
      for (; !at.isAfter(end); at = at.plus(interval(i))) {
        expected.add("s" + i + " " + at);
      }
    }
    List<String> fires =
        column(
            address,
            """
            SELECT s.name || ' ' || to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
            FROM carillon.schedule_fire f
            JOIN carillon.schedule s ON s.id = f.schedule
            """);
    assertThat(fires).containsExactlyInAnyOrderElementsOf(expected);
    assertThat(
            column(
                address,
                """
                SELECT f.task FROM carillon.schedule_fire f WHERE f.task IS NOT NULL
                EXCEPT ALL
                SELECT t.id FROM carillon.task t JOIN carillon.schedule_fire f ON f.task = t.id AND f.at = t.fire_at
                """))
        .as("fires without their task")
        .isEmpty();
    assertThat(column(address, "SELECT count(*) FROM carillon.task"))
        .as("tasks, one for each fire that was not skipped")
        .isEqualTo(
            column(address, "SELECT count(*) FROM carillon.schedule_fire WHERE task IS NOT NULL"));
    assertThat(
            column(
                address, "SELECT count(*) FROM carillon.schedule_fire WHERE skipped <> 'WINDOW'"))
        .containsExactly("0");
    assertThat(
            column(
                address,
                """
                SELECT s.name
                FROM carillon.schedule s
                CROSS JOIN LATERAL (
                    SELECT count(task) AS runs, count(skipped) AS skipped,
                           count(*) FILTER (WHERE outcome = 'COMPLETED') AS completed
                    FROM carillon.schedule_fire f
                    WHERE f.schedule = s.id
                ) f
                WHERE s.runs <> f.runs OR s.skipped_window <> f.skipped OR s.completed <> f.completed
                   OR s.completed = 0 OR (s.catch_up = 'ALL' AND f.skipped > 0)
                """))
        .as("schedules whose counters are wrong")
        .isEmpty();
    checkIds(address);
  }

  /** The id of a task follows from its fire and due time alone, whichever planner created it. */
  private static void checkIds(Db.Address address) {
    List<String> tasks =
        column(
            address,
            """
            SELECT concat_ws(' ', f.schedule, to_char(f.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                             to_char(t.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), t.id)
            FROM carillon.schedule_fire f
            JOIN carillon.task t ON t.id = f.task
            """);
    assertThat(tasks).isNotEmpty();
    for (String task : tasks) {
      String[] parts = task.split(" ", -1);
      TaskId id =
          FireHash.taskId(
              Long.parseLong(parts[0]), 1, Instant.parse(parts[1]), Instant.parse(parts[2]));
      assertThat(parts[3]).isEqualTo(id.toString());
    }
  }

  private static void execute(Db.Address address, String... statements) {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> column(Db.Address address, String query) {
    try (Connection connection = Postgres.connect(address);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(query)) {
      List<String> column = new ArrayList<>();
      while (rows.next()) {
        column.add(rows.getString(1));
      }
      return column;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
