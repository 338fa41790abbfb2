package carillon.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.Attempted;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.model.task.Outcome;
import carillon.store.db.StoreException;
import carillon.store.db.Transitions;
import carillon.store.deadletters.DeadLetterFilter;
import carillon.store.stats.Events;
import carillon.store.tasks.TaskPatch;
import carillon.testkit.World;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FeedTest {

  private static final Duration WATCH_TIME = Duration.ofMinutes(1);

  private World world;
  private Feed feed;
  private Instant start;

  @BeforeEach
  void open() {
    world = World.create();
    world.node("node");
    start = world.clock.instant().minusSeconds(5);
    feed = feedOf(world);
  }

  private static Feed feedOf(World world) {
    Feed feed = new Feed(world.store.events(), world.catalog, world.clock, () -> "node");
    world.db.transitions().listen(feed);
    return feed;
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void watch() {
    world.store.events().watch(Set.of(World.TENANT), WATCH_TIME);
    feed.feedOnce();
  }

  /** The tenant's events as text. */
  private List<String> events() {
    return world.store.events().read(Set.of(World.TENANT), start).stream()
        .map(Events.Written::event)
        .map(FeedTest::text)
        .toList();
  }

  private static String text(Events.Event event) {
    Events.Change change = event.change();
    return change == null
        ? "skipped " + event.skipped()
        : change.type() + ": " + change.from() + " " + change.to() + " " + change.attempt();
  }

  private void finish(ClaimedTask task, Outcome outcome) {
    world
        .store
        .outcomes()
        .finishAttempts(
            List.of(new Attempted(task, outcome)), Set.of(task.lease().claim()), "node");
  }

  @Test
  void events_of_one_node_can_be_read_on_another() {
    try (World other = world.anotherProcess()) {
      other.store.events().watch(Set.of(World.TENANT), WATCH_TIME);
      assertThat(feed.feedOnce()).isEqualTo(Duration.ofSeconds(1));
      TaskId id = world.discard();
      feed.feedOnce();

      List<Events.Written> seen = other.store.events().read(Set.of(World.TENANT), start);

      assertThat(seen).hasSize(1);
      assertThat(Objects.requireNonNull(seen.getFirst().event().change()).task()).isEqualTo(id);
      assertThat(other.store.events().read(Set.of(new TenantId(99)), start)).isEmpty();
    }
  }

  @Test
  void every_transition_is_an_event() {
    watch();
    Failure failure = Failure.of(FailureKind.TIMEOUT, "late");
    TaskId id = world.discard();
    finish(world.claimOne("node"), new Outcome.RetryAt(world.clock.instant(), failure));
    finish(world.claimOne("node"), new Outcome.Released(failure));
    finish(world.claimOne("node"), new Outcome.Dead(failure, false));
    world.db.inTransaction(tx -> world.tasks.redrive(tx, World.TENANT, id, "test", null));
    finish(world.claimOne("node"), new Outcome.Dead(failure, false));
    world.db.inTransaction(
        tx -> world.store.redrives().start(tx, World.TENANT, DeadLetterFilter.ALL, null, "test"));
    finish(world.claimOne("node"), new Outcome.Completed(null, null));
    world.cancel(world.discard());
    feed.feedOnce();

    assertThat(events())
        .containsExactly(
            "t: null PENDING 0",
            "t: PENDING RUNNING 1",
            "t: RUNNING PENDING 1",
            "t: PENDING RUNNING 2",
            "t: RUNNING PENDING 1",
            "t: PENDING RUNNING 2",
            "t: RUNNING DEAD 2",
            "t: DEAD PENDING 0",
            "t: PENDING RUNNING 1",
            "t: RUNNING DEAD 1",
            "t: DEAD PENDING 0",
            "t: PENDING RUNNING 1",
            "t: RUNNING COMPLETED 1",
            "t: null PENDING 0",
            "t: PENDING CANCELLED 0");
  }

  @Test
  void changes_without_a_transition_are_events_too() {
    TaskPatch patch = new TaskPatch(null, 1, null, null, null, null);
    TaskId id = world.discard();
    watch();
    world.db.inTransaction(tx -> world.tasks.patch(tx, World.TENANT, id, patch, "test", null));
    world.db.inTransaction(tx -> world.tasks.runNow(tx, World.TENANT, id, "test", null));
    finish(
        world.claimOne("node"), new Outcome.Dead(Failure.of(FailureKind.TIMEOUT, "late"), false));
    world.db.inTransaction(tx -> world.tasks.patch(tx, World.TENANT, id, patch, "test", null));
    TaskId running = world.discard();
    assertThat(world.claimOne("node").id()).isEqualTo(running);
    world.cancel(running);
    feed.feedOnce();

    assertThat(events())
        .containsExactly(
            "t: PENDING PENDING 0",
            "t: PENDING PENDING 0",
            "t: PENDING RUNNING 1",
            "t: RUNNING DEAD 1",
            "t: DEAD DEAD 1",
            "t: null PENDING 0",
            "t: PENDING RUNNING 1",
            "t: RUNNING RUNNING 1");
  }

  @Test
  void an_unwatched_feed_runs_one_query_per_pass() {
    world.countStatements();
    for (int i = 0; i < 3; i++) {
      world.discard();
      finish(world.claimOne("node"), new Outcome.Completed(null, null));
      assertThat(feed.feedOnce()).isEqualTo(Duration.ofSeconds(2));
    }

    assertThat(
            world.value(
                """
                SELECT string_agg(calls || ' ' || substring(query FROM 'SELECT|INSERT|DELETE'), ', ')
                FROM pg_stat_statements
                WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND query ~ 'carillon[.](event|watch)'
                """))
        .isEqualTo("3 SELECT");
    assertThat(events()).isEmpty();
  }

  @Test
  void no_events_are_written_after_the_last_watch_ends() {
    watch();
    world.sql("UPDATE carillon.watch SET until = now()");
    assertThat(feed.feedOnce()).isEqualTo(Duration.ofSeconds(2));

    world.discard();
    feed.feedOnce();

    assertThat(events()).isEmpty();
  }

  @Test
  void events_of_unwatched_tenants_are_not_written() {
    world.store.events().watch(Set.of(new TenantId(99)), WATCH_TIME);
    assertThat(feed.feedOnce()).isEqualTo(Duration.ofSeconds(1));

    world.discard();
    feed.feedOnce();

    assertThat(world.value("SELECT count(*) FROM carillon.event")).isEqualTo("0");
  }

  @Test
  void an_event_of_an_unknown_lane_is_skipped_and_counted() {
    watch();

    feed.created(
        List.of(new OfUnknownLane(TaskId.at(world.clock.instant(), new Random(1)), 12_345)));
    feed.feedOnce();

    assertThat(events()).containsExactly("skipped 1");
  }

  private record OfUnknownLane(TaskId id, int laneId) implements Transitions.Created {}

  @Test
  void events_beyond_the_limit_are_counted() {
    watch();
    var task = World.task("t", new Target.Discard());
    world.db.inTransaction(
        tx ->
            world.tasks.createAll(
                tx, World.TENANT, Collections.nCopies(Feed.MAX_PER_TENANT + 50, task)));
    feed.feedOnce();

    assertThat(events())
        .hasSize(Feed.MAX_PER_TENANT + 1)
        .endsWith("t: null PENDING 0", "skipped 50");
  }

  @Test
  void events_that_failed_to_be_written_are_counted_by_the_next_pass() {
    watch();
    world.discard();
    world.discard();
    world.sql("ALTER TABLE carillon.event RENAME TO away");
    assertThatThrownBy(feed::feedOnce).isInstanceOf(StoreException.class);
    world.sql("ALTER TABLE carillon.away RENAME TO event");

    feed.feedOnce();

    assertThat(events()).containsExactly("skipped 2");
  }

  @Test
  void old_events_are_deleted_in_batches() {
    world.sql(
        """
        INSERT INTO carillon.event (written_at, tenant, at, node)
        SELECT now() - n * interval '10 seconds', 1, now(), 'node'
        FROM generate_series(1, 8) AS n
        """);
    world.sql("INSERT INTO carillon.watch VALUES (1, now() - interval '1 minute'), (2, now())");

    assertThat(world.store.events().forgetOld(4)).isEqualTo(4);
    assertThat(world.store.events().forgetOld(4)).isEqualTo(2);
    assertThat(world.value("SELECT count(*) FROM carillon.event")).isEqualTo("2");
    assertThat(world.value("SELECT string_agg(tenant::text, ' ') FROM carillon.watch"))
        .isEqualTo("2");
  }

  @Test
  void the_last_events_are_written_when_the_node_stops() {
    watch();
    world.discard();

    feed.close();

    assertThat(events()).containsExactly("t: null PENDING 0");
  }
}
