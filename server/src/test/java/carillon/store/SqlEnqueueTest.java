package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.task.AlertSetting;
import carillon.model.task.TaskState;
import carillon.store.catalog.Tenants;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks.CreateResult;
import carillon.testkit.Overlapping;
import carillon.testkit.SqlUser;
import carillon.testkit.TestTask;
import carillon.testkit.World;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SqlEnqueueTest {

  private World world;
  private SqlUser user;

  @BeforeEach
  void open() throws SQLException {
    world = World.create();
    world.node("node");
    for (int day = 0; day < 3; day++) {
      world.partitions.ensure(Partition.of(world.clock.instant().plus(Duration.ofDays(day))));
    }
    user = SqlUser.owner(world.address);
  }

  @AfterEach
  void close() throws SQLException {
    user.close();
    world.close();
  }

  private static TaskId id(String text) {
    return TaskId.parse(text).orElseThrow();
  }

  private TaskView task(String id) {
    return world.find(id(id));
  }

  @Test
  void a_rolled_back_transaction_enqueues_nothing() throws SQLException {
    user.begin();
    String id = user.enqueue("'mail', '{\"to\": 1}'");
    user.rollback();

    assertThat(world.tasks.find(World.TENANT, id(id))).isEmpty();
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.task_type")).isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM carillon.catalog_change")).isEqualTo("0");
  }

  @Test
  void a_committed_transaction_enqueues_one_task_with_the_given_values() throws SQLException {
    user.begin();
    String id =
        user.enqueue(
            "'mail', '{\"to\": [1, null]}', key => 'k', priority => 7, concurrency_key => 'c',"
                + " expires_at => now() + interval '1 hour', metadata => '{\"a\": \"b\"}'");
    assertThat(world.tasks.find(World.TENANT, id(id))).isEmpty();
    user.commit();

    TaskView task = task(id);
    assertThat(task.state()).isEqualTo(TaskState.PENDING);
    assertThat(task.type()).isEqualTo("mail");
    assertThat(task.spec().payload()).isEqualTo("{\"to\": [1, null]}");
    assertThat(task.key()).isEqualTo("k");
    assertThat(task.spec().concurrencyKey()).isEqualTo("c");
    assertThat(task.priority()).isEqualTo(7);
    assertThat(task.spec().metadata()).isEqualTo(Map.of("a", "b"));
    assertThat(task.expiresAt()).isAfter(task.dueAt());
    assertThat(world.claimOne("node").id()).isEqualTo(id(id));
    assertThat(world.claim("node", 10)).isEmpty();
  }

  @Test
  void a_rollback_to_a_savepoint_undoes_an_enqueue() throws SQLException {
    user.begin();
    String kept = user.enqueue("'mail'");
    user.sql("SAVEPOINT s");
    String gone = user.enqueue("'other'");
    user.sql("ROLLBACK TO SAVEPOINT s");
    user.commit();

    assertThat(task(kept).state()).isEqualTo(TaskState.PENDING);
    assertThat(world.tasks.find(World.TENANT, id(gone))).isEmpty();
    world.catalog.refresh();
    assertThat(world.catalog.isKnownType(World.TENANT, "other")).isFalse();
    assertThat(world.create(World.task("other", null))).isNotNull();
  }

  @Test
  void a_node_sees_a_new_lane_after_its_next_refresh() throws SQLException {
    world.create(World.task("known", null));
    world.catalog.refresh();
    user.enqueue("'mail'");

    world.catalog.refresh();

    assertThat(world.catalog.lanes(World.TENANT, "mail")).hasSize(1);
    world.create(World.task("later", null)); // folds the recorded changes into the version
    world.catalog.refresh();
    user.enqueue("'third'");
    world.catalog.refresh();
    assertThat(world.catalog.lanes(World.TENANT, "third")).hasSize(1);
  }

  @Test
  void a_due_time_is_stored_to_the_microsecond_in_any_session_time_zone() throws SQLException {
    user.sql("SET TimeZone = 'Pacific/Kiritimati'");
    Instant due = world.clock.instant().truncatedTo(ChronoUnit.DAYS).plus(Duration.ofHours(47));

    TaskView task = task(user.enqueue("'mail', due_at => '" + due + "'"));

    assertThat(task.dueAt()).isEqualTo(due);
    assertThat(task.readyAt()).isBetween(due, due.plusMillis(1));
    assertThat(task.id().partition()).isEqualTo(Partition.of(due));
  }

  @Test
  void a_past_due_time_means_now_and_a_delay_counts_from_now() throws SQLException {
    TaskView past = task(user.enqueue("'mail', due_at => '-infinity'"));
    TaskView delayed = task(user.enqueue("'mail', delay => interval '90 minutes'"));

    Instant now = world.clock.instant();
    assertThat(past.dueAt()).isCloseTo(now, within(10, ChronoUnit.SECONDS));
    assertThat(delayed.dueAt()).isCloseTo(now.plusSeconds(5400), within(10, ChronoUnit.SECONDS));
  }

  @Test
  void a_task_whose_partition_does_not_exist_lies_in_an_earlier_one() throws SQLException {
    Instant due = world.clock.instant().truncatedTo(ChronoUnit.MICROS).plus(Duration.ofDays(700));

    TaskView task = task(user.enqueue("'mail', due_at => '" + due + "'"));

    assertThat(task.dueAt()).isEqualTo(due);
    assertThat(task.id().partition())
        .isEqualTo(Partition.of(world.clock.instant().plus(Duration.ofDays(2))));
    assertThat(world.value("SELECT partition FROM carillon.task WHERE id = '" + task.id() + "'"))
        .isEqualTo(task.id().partition().day().toString());
  }

  @Test
  void without_partitions_the_error_explains_how_to_create_them() {
    world.sql("DELETE FROM carillon.partition");
    assertThatThrownBy(() -> user.enqueue("'mail'"))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("there is no partition yet")
        .hasMessageContaining("Start a Carillon server");
  }

  private static final String DROP_LATEST_PARTITION =
      """
      /* SqlEnqueueTest.dropLatestPartition */
      DELETE FROM carillon.partition WHERE day = (SELECT max(day) FROM carillon.partition)
      """;

  private void keepOnlyThreeOldPartitions() {
    for (int day = 1; day <= 3; day++) {
      world.partitions.ensure(Partition.of(world.clock.instant().minus(Duration.ofDays(day))));
    }
    world.sql("DELETE FROM carillon.partition WHERE day >= (now() AT TIME ZONE 'UTC')::date");
  }

  @Test
  void an_old_partition_cannot_be_dropped_while_a_transaction_uses_it() throws SQLException {
    keepOnlyThreeOldPartitions();
    user.begin();

    TaskId id = id(user.enqueue("'mail'"));

    assertThat(id.partition())
        .isEqualTo(Partition.of(world.clock.instant().minus(Duration.ofDays(1))));
    assertThat(
            world.value(
                "SELECT string_agg(day::text, ' ' ORDER BY day)"
                    + " FROM (SELECT day FROM carillon.partition FOR UPDATE SKIP LOCKED) free"))
        .as("the other partitions can be dropped")
        .isEqualTo(
            world.value(
                "SELECT string_agg(day::text, ' ' ORDER BY day) FROM carillon.partition WHERE day"
                    + " <> '"
                    + id.partition().day()
                    + "'"));
    user.rollback();
  }

  @Test
  void a_concurrently_dropped_partition_is_not_used() {
    keepOnlyThreeOldPartitions();
    try (Overlapping overlapping = new Overlapping(world)) {
      assertThatThrownBy(
              () ->
                  overlapping.runWaiting(
                      tx -> tx.update(DROP_LATEST_PARTITION), () -> user.enqueue("'mail'")))
          .hasMessageContaining("there is no partition yet");
    }
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  private static final List<String> INVALID =
      List.of(
          "NULL -> type must match",
          "'' -> type must match",
          "'two words' -> type must match",
          "E'mail\\n' -> type must match",
          "repeat('x', 101) -> type must match",
          "'carillon.callback' -> reserved for Carillon",
          "'t', to_jsonb(repeat('x', 262143)) -> 262144 bytes",
          "'t', (repeat('[', 64) || repeat(']', 64))::jsonb -> deeper than 63",
          "'t', key => repeat('x', 201) -> key may have at most 200",
          "'t', key => repeat(U&'\\+01F600', 101) -> key may have at most 200",
          "'t', key => E'a\\nb' -> control characters",
          "'t', concurrency_key => repeat('x', 201) -> concurrency_key may have at most 200",
          "'t', priority => 10 -> priority must be",
          "'t', priority => -1 -> priority must be",
          "'t', due_at => 'infinity' -> 730 days",
          "'t', due_at => now() + interval '731 days' -> 730 days",
          "'t', delay => interval '-1 second' -> must not be negative",
          "'t', delay => interval '1 second', due_at => now() -> not both",
          "'t', expires_at => now() - interval '1 second' -> expires_at must be",
          "'t', expires_at => 'infinity' -> expires_at must be",
          "'t', unique_for => interval '1 hour' -> requires a key",
          "'t', key => 'k', unique_for => interval '-1 hour' -> unique_for must be",
          "'t', metadata => '[]' -> object of strings",
          "'t', metadata => '{\"a\": 1}' -> object of strings",
          "'t', metadata => jsonb_build_object(repeat('n', 65), 'v') -> 64 characters",
          "'t', metadata => jsonb_build_object('n', repeat('v', 513)) -> 512 characters",
          "'t', tenant => 'nobody' -> tenant nobody does not exist");

  @Test
  void arguments_that_the_api_rejects_are_rejected() {
    for (String invalid : INVALID) {
      String[] parts = invalid.split(" -> ", 2);
      assertThatThrownBy(() -> user.enqueue(parts[0]))
          .as(parts[0])
          .isInstanceOf(SQLException.class)
          .hasMessageContaining(parts[1])
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("22023");
    }
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("0");
  }

  @Test
  void arguments_at_the_limits_are_accepted() throws SQLException {
    user.enqueue("repeat('x', 100), to_jsonb(repeat('x', 262142))");
    user.enqueue("'t', (repeat('[', 63) || repeat(']', 63))::jsonb");
    user.enqueue("'t', key => repeat(U&'\\+01F600', 100), due_at => now() + interval '729 days'");

    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("3");
  }

  @Test
  void strict_tenants_and_payload_schemas_are_enforced() throws SQLException {
    world.create(World.task("known", null));
    world
        .store
        .tenants()
        .put(
            "default",
            new Tenants.Settings(true, false, 1, new AlertSetting.Inherited(), null),
            "test");

    assertThat(user.enqueue("'known'")).isNotEmpty();
    assertThatThrownBy(() -> user.enqueue("'new'")).hasMessageContaining("strict");
    world.sql("UPDATE carillon.task_type SET schema = '{}'");
    assertThatThrownBy(() -> user.enqueue("'known'"))
        .hasMessageContaining("must match a JSON Schema")
        .hasMessageContaining("POST /v1/tasks");
  }

  @Test
  void unique_tasks_are_shared_by_sql_and_the_api() throws SQLException {
    String first = user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'");
    var again = TestTask.of("mail").key("k").uniqueFor(Duration.ofHours(1)).build();

    CreateResult byApi = world.db.inTransaction(tx -> world.tasks.create(tx, World.TENANT, again));

    assertThat(byApi).isInstanceOf(CreateResult.Existing.class);
    assertThat(user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'"))
        .isEqualTo(first);
    assertThat(user.enqueue("'other', key => 'k', unique_for => interval '1 hour'"))
        .isNotEqualTo(first);
    world.cancel(id(first));
    assertThat(user.enqueue("'mail', key => 'k', unique_for => interval '0'")).isNotEqualTo(first);
  }

  @Test
  void a_search_of_all_partitions_releases_its_locks() throws SQLException {
    user.begin();
    user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'");
    user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'");
    user.cancel("'mail', 'none'");

    assertThat(
            user.value(
                """
                SELECT count(DISTINCT l.relation)
                FROM pg_locks l
                JOIN pg_class c ON c.oid = l.relation
                WHERE l.pid = pg_backend_pid() AND c.relname ~ '^task_[0-9]+$'
                """))
        .isEqualTo("1");
    user.rollback();
  }

  @Test
  void a_key_is_found_by_index_in_every_partition() throws SQLException {
    user.sql("SELECT carillon.enqueue('mail', key => 'k' || n) FROM generate_series(1, 2000) n");
    long before = rowsReadBySequentialScans();

    user.enqueue("'mail', key => 'k77', unique_for => interval '1 hour'");
    user.cancel("'mail', 'k78'");

    user.sql("SELECT pg_stat_force_next_flush()");
    assertThat(rowsReadBySequentialScans()).as("rows read by sequential scans").isEqualTo(before);
  }

  private long rowsReadBySequentialScans() throws SQLException {
    user.sql("SELECT pg_stat_force_next_flush()");
    return Long.parseLong(
        world.value(
            "SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE 'task\\_2%'"));
  }

  @Test
  void one_transaction_can_enqueue_ten_thousand_tasks() throws SQLException {
    user.begin();
    user.sql(
        """
        SELECT carillon.enqueue('mail', jsonb_build_object('n', n), key => 'k' || n)
        FROM generate_series(1, 10000) n
        """);
    user.commit();

    assertThat(world.value("SELECT count(DISTINCT id) FROM carillon.task")).isEqualTo("10000");
    assertThat(world.value("SELECT count(*) FROM carillon.lane")).isEqualTo("1");
  }
}
