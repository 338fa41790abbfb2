package carillon.store.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Partition;
import carillon.model.TenantLimit;
import carillon.model.cron.DstRule;
import carillon.model.schedule.CatchUp;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.Schedule;
import carillon.store.schedules.Schedules;
import carillon.testkit.SqlUser;
import carillon.testkit.TestTypeSettings;
import carillon.testkit.World;
import java.sql.SQLException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tenant limits hold while nodes and SQL users create objects concurrently. */
class TenantLimitsTest {

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.partitions.ensure(Partition.of(world.clock.instant())); // SQL users cannot create it
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void limit(int types, int lanes) {
    new TenantLimits(world.db).set(new TenantLimits.Installation(types, lanes, 5, 5));
  }

  private String types() {
    return world.value("SELECT count(*) FROM carillon.task_type");
  }

  @Test
  void concurrent_nodes_create_types_exactly_up_to_the_limit() throws Exception {
    limit(20, 1_000);
    int rejected = 0;
    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Callable<Boolean>> creates = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        World node = i % 2 == 0 ? world : other;
        String type = "t" + i / 2 % 30; // each type on both nodes
        creates.add(() -> isCreated(node, type));
      }
      for (Future<Boolean> created : threads.invokeAll(creates)) {
        rejected += created.get() ? 0 : 1;
      }
    }

    assertThat(types()).isEqualTo("20");
    assertThat(rejected).isEqualTo(20);
  }

  private static boolean isCreated(World node, String type) {
    try {
      node.create(World.task(type, null));
      return true;
    } catch (LimitReached e) {
      assertThat(e.limit()).isEqualTo(TenantLimit.TYPES);
      return false;
    }
  }

  @Test
  @Timeout(30)
  void open_transactions_of_sql_users_count_and_block_nobody() throws SQLException {
    limit(3, 100);
    try (SqlUser one = SqlUser.owner(world.address).begin();
        SqlUser two = SqlUser.owner(world.address).begin()) {
      one.enqueue("'a'");
      two.enqueue("'b'");
      world.create(World.task("c", null));

      assertThat(isCreated(world, "d")).isFalse();
      assertThatThrownBy(() -> two.enqueue("'d'"))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("the tenant may have at most 3 types")
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("54000");
      two.rollback();

      assertThat(isCreated(world, "d")).as("after the rollback").isTrue();
      one.commit();
    }
    assertThat(types()).isEqualTo("3");
    assertThat(isCreated(world, "a")).as("a type that exists").isTrue();
  }

  @Test
  void an_sql_user_cannot_create_lanes_beyond_the_limit() throws SQLException {
    limit(10, 2);
    try (SqlUser user = SqlUser.owner(world.address)) {
      user.enqueue("'a'");
      user.enqueue("'a', priority => 1");

      assertThatThrownBy(() -> user.enqueue("'a', priority => 2"))
          .hasMessageContaining("the tenant may have at most 2 lanes");
      assertThatThrownBy(() -> user.enqueue("'b'")).hasMessageContaining("2 lanes");
      user.enqueue("'a', priority => 1");
    }
    assertThat(types()).isEqualTo("1");
  }

  @Test
  @Timeout(60)
  void racing_sql_users_and_nodes_never_exceed_the_limit() throws Exception {
    int limit = 12;
    limit(limit, 1_000);
    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newFixedThreadPool(8)) {
      List<Callable<Boolean>> creates = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        String type = "t" + i;
        creates.add(
            switch (i % 4) {
              case 0 -> () -> isCreated(world, type);
              case 1 -> () -> isCreated(other, type);
              case 2 -> () -> isSaved(other, type);
              default -> () -> isEnqueued(type);
            });
      }
      for (Future<Boolean> created : threads.invokeAll(creates)) {
        created.get();
      }
    }
    int count = Integer.parseInt(types());
    assertThat(count).isLessThanOrEqualTo(limit);
    for (int i = 0; i < limit; i++) {
      isCreated(world, "later" + i);
    }
    assertThat(types()).isEqualTo(String.valueOf(limit));
  }

  private static boolean isSaved(World node, String type) {
    try {
      node.store.types().put(World.TENANT, type, TestTypeSettings.DEFAULT, "test", null);
      return true;
    } catch (LimitReached e) {
      return false;
    }
  }

  private boolean isEnqueued(String type) throws SQLException {
    try (SqlUser user = SqlUser.owner(world.address)) {
      user.enqueue("'" + type + "'");
      return true;
    } catch (SQLException e) {
      assertThat(e.getSQLState()).isEqualTo("54000");
      return false;
    }
  }

  @Test
  void concurrent_nodes_create_keys_exactly_up_to_the_limit() throws Exception {
    limit(10, 10);

    assertThat(createdConcurrently(TenantLimitsTest::isKeyCreated)).isEqualTo(5);
    assertThat(world.value("SELECT count(*) FROM carillon.api_key")).isEqualTo("5");
  }

  @Test
  void concurrent_nodes_create_schedules_exactly_up_to_the_limit() throws Exception {
    limit(10, 10);

    assertThat(createdConcurrently(TenantLimitsTest::isScheduleCreated)).isEqualTo(5);
    assertThat(world.value("SELECT count(*) FROM carillon.schedule")).isEqualTo("5");
  }

  /** How many of twelve concurrent creations on two nodes succeed. */
  private int createdConcurrently(BiPredicate<World, String> isCreated) throws Exception {
    int count = 0;
    try (World other = world.anotherProcess();
        ExecutorService threads = Executors.newFixedThreadPool(6)) {
      List<Callable<Boolean>> creates = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        World node = i % 2 == 0 ? world : other;
        String name = "name" + i;
        creates.add(() -> isCreated.test(node, name));
      }
      for (Future<Boolean> created : threads.invokeAll(creates)) {
        count += created.get() ? 1 : 0;
      }
    }
    return count;
  }

  private static boolean isKeyCreated(World node, String id) {
    try {
      node.db.inTransaction(
          tx ->
              node.store
                  .keys()
                  .create(
                      tx, World.TENANT, id, "n", "viewer", List.of(), new byte[32], null, "test"));
      return true;
    } catch (LimitReached e) {
      return false;
    }
  }

  private static boolean isScheduleCreated(World node, String name) {
    Schedule schedule =
        new Schedule(
            name,
            null,
            Duration.ofHours(1),
            ZoneOffset.UTC,
            DstRule.DEFAULT,
            OverlapRule.SKIP,
            CatchUp.DEFAULT,
            Duration.ZERO,
            null,
            null,
            null,
            null,
            new Schedule.TaskTemplate("t", null, null, "{}", null, null));
    try {
      node.db.inTransaction(
          tx ->
              node.store
                  .schedules()
                  .put(
                      tx,
                      World.TENANT,
                      new Schedules.Wanted(schedule, null),
                      "test",
                      Schedules.Expected.ANY));
      return true;
    } catch (LimitReached e) {
      return false;
    }
  }
}
