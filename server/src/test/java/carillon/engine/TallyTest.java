package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import carillon.model.TaskId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.NewTask;
import carillon.model.task.Outcome;
import carillon.store.db.StoreException;
import carillon.store.queue.WorkReport;
import carillon.store.stats.Activity;
import carillon.store.tasks.TaskFilter;
import carillon.testkit.SqlUser;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Every transition is counted once, whichever part of the program commits it. */
class TallyTest {

  private static final Failure FAILURE = Failure.of(FailureKind.TIMEOUT, "late");

  private World world;
  private Tally tally;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    tally = new Tally(new Activity(world.db), world.catalog);
    world.db.transitions().listen(tally);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void finish(ClaimedTask task, Outcome outcome) {
    world.store.outcomes().finishAttempts(List.of(new Attempted(task, outcome)), Set.of(), "node");
  }

  /** The sum over the rows of a span, tenant and type. */
  private String counted(int span, int tenant, String type) {
    return world.value(
        """
        SELECT concat_ws(' ', sum(started), sum(completed), sum(retried), sum(dead), sum(cancelled), sum(expired),
                         sum((SELECT sum(l) FROM unnest(late) AS l)))
        FROM carillon.activity
        WHERE span = %d AND tenant = %d AND type = '%s'
        """
            .formatted(span, tenant, type));
  }

  private NewTask task(String type, @Nullable Duration ttl) {
    return TestTask.of(type).key("k").payload("{}").target(new Target.Pull()).ttl(ttl).build();
  }

  @Test
  void starts_and_ends_of_pushed_tasks_are_counted_by_type_tenant_and_installation() {
    for (int i = 0; i < 6; i++) {
      world.discard();
    }
    List<ClaimedTask> claimed = new ArrayList<>();
    await().until(() -> claimed.addAll(world.claim("node", 6)) && claimed.size() == 6);

    finish(claimed.get(0), new Outcome.Completed(null, null));
    finish(claimed.get(1), new Outcome.Completed(null, null));
    finish(claimed.get(2), new Outcome.Dead(FAILURE, false));
    finish(claimed.get(3), new Outcome.RetryAt(world.clock.instant().plusSeconds(60), FAILURE));
    finish(claimed.get(4), new Outcome.Released(FAILURE)); // neither an end nor a counted attempt
    world.cancel(claimed.get(5).id()); // only requested so far
    finish(claimed.get(0), new Outcome.Completed(null, null)); // its claim has ended
    tally.flushOnce();

    String counts = "6 2 1 1 0 0 6";
    assertThat(counted(1, 1, "t")).isEqualTo(counts);
    assertThat(counted(60, 1, "t")).isEqualTo(counts);
    assertThat(counted(1, 1, "")).isEqualTo(counts);
    assertThat(counted(60, 0, "")).isEqualTo(counts);

    finish(claimed.get(5), new Outcome.Released(FAILURE));
    tally.flushOnce();

    assertThat(counted(60, 0, "")).isEqualTo("6 2 1 1 1 0 6");
  }

  @Test
  void reports_cancels_expiry_and_redrives_are_counted_by_kind() {
    TaskId expired = world.create(task("late", Duration.ofMillis(1)));
    await()
        .until(
            () -> {
              world.store.expiry().expireDue(10);
              return world.state(expired).name().equals("EXPIRED");
            });
    TaskId reported = world.create(task("t", null));
    ClaimedTask claimed =
        await()
            .until(
                () ->
                    world.db.inTransaction(
                        tx ->
                            world
                                .store
                                .pullQueue()
                                .claim(
                                    tx, World.TENANT, List.of("t"), 1, "w", Duration.ofMinutes(1))),
                list -> !list.isEmpty())
            .getFirst();
    WorkReport dead =
        new WorkReport(reported, claimed.lease(), WorkReport.Kind.DEAD, null, null, null, null);
    world.db.inTransaction(
        tx -> world.store.pullQueue().report(tx, World.TENANT, List.of(dead), List.of(), "w"));
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, reported, "test", null));
    world.cancel(reported);
    world.create(task("many", null));
    world.create(task("many", null));
    world.db.inTransaction(
        tx ->
            world.tasks.cancelMatching(
                tx,
                World.TENANT,
                new TaskFilter("many", null, null, null, null, null, null, Map.of()),
                null,
                "test"));
    tally.flushOnce();

    assertThat(counted(1, 1, "late")).isEqualTo("0 0 0 0 0 1 0");
    assertThat(counted(1, 1, "t")).isEqualTo("1 0 0 1 1 0 1");
    assertThat(counted(1, 1, "many")).isEqualTo("0 0 0 0 2 0 0");
    assertThat(counted(1, 0, "")).isEqualTo("1 0 0 1 3 1 1");
  }

  @Test
  void a_cancel_requested_in_sql_during_a_release_is_counted() throws Exception {
    try (SqlUser user = SqlUser.owner(world.address)) {
      world.create(task("t", null));
      ClaimedTask claimed = world.claimOne("node");
      user.cancel("'t', 'k'");
      finish(claimed, new Outcome.RetryAt(world.clock.instant().plusSeconds(60), FAILURE));
      world.store.expiry().applyCancelRequests(10);
      tally.flushOnce();

      assertThat(counted(1, 1, "t")).isEqualTo("1 0 1 0 1 0 1");
    }
  }

  @Test
  void rolled_back_transitions_are_not_counted() {
    TaskId id = world.create(task("t", null));

    assertThatThrownBy(
            () ->
                world.db.inTransaction(
                    tx -> {
                      world.tasks.cancel(tx, World.TENANT, id, "test", null);
                      throw new IllegalStateException("on purpose");
                    }))
        .hasMessage("on purpose");
    tally.flushOnce();

    assertThat(world.value("SELECT count(*) FROM carillon.activity")).isEqualTo("0");
  }

  @Test
  void concurrent_counts_are_neither_lost_nor_doubled_when_flushes_fail() throws Exception {
    int threads = 4;
    int rounds = 500;
    world.discard();
    ClaimedTask task = world.claimOne("node");
    tally.flushOnce();
    world.sql("DELETE FROM carillon.activity");
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> counting = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        counting.add(
            pool.submit(
                () -> {
                  for (int n = 0; n < rounds; n++) {
                    tally.claimed(List.of(task, task));
                  }
                }));
      }
      world.sql("ALTER TABLE carillon.activity RENAME TO elsewhere");
      assertThatThrownBy(
              () -> {
                while (true) { // until something has been counted
                  tally.flushOnce();
                }
              })
          .isInstanceOf(StoreException.class);
      world.sql("ALTER TABLE carillon.elsewhere RENAME TO activity");
      for (Future<?> each : counting) {
        tally.flushOnce();
        each.get();
      }
    }
    tally.close();

    int all = threads * rounds * 2;
    assertThat(counted(1, 1, "t")).isEqualTo(all + " 0 0 0 0 0 " + all);
    assertThat(counted(60, 0, "")).isEqualTo(all + " 0 0 0 0 0 " + all);
  }

  @Test
  void a_flush_is_one_statement_or_none_if_nothing_happened() {
    world.countStatements();
    for (int i = 0; i < 5; i++) {
      world.create(World.task("t" + i, new Target.Discard()));
      world.claimOne("node");
    }
    tally.flushOnce();
    tally.flushOnce();

    assertThat(
            world.value(
                """
                SELECT sum(calls)
                FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
                WHERE d.datname = current_database() AND query LIKE '%INSERT INTO carillon.activity%'
                """))
        .isEqualTo("1");
  }
}
