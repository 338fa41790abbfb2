package carillon.store.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Signal;
import carillon.model.target.Target;
import carillon.model.task.AlertSetting;
import carillon.model.task.Lane;
import carillon.store.db.Tx;
import carillon.testkit.Overlapping;
import carillon.testkit.SqlUser;
import carillon.testkit.World;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class CatalogTest {

  private static final String LOCK_LANES =
      """
      /* CatalogTest.lockLanes */
      LOCK TABLE carillon.lane IN ACCESS EXCLUSIVE MODE
      """;

  private World world;
  private Overlapping overlapping;

  @BeforeEach
  void open() {
    world = World.create();
    overlapping = new Overlapping(world);
    world.create(World.task("t", new Target.Pull()));
  }

  @AfterEach
  void close() {
    overlapping.close();
    world.close();
  }

  @Test
  void a_catalog_invalidated_during_a_read_stays_empty_until_the_next_read() throws Exception {
    world.catalog.forget();

    List<Integer> known =
        overlapping.runWaiting(
            tx -> tx.update(LOCK_LANES),
            () -> {
              world.catalog.refresh();
              return world.catalog.lanes().stream().map(Lane::id).toList();
            },
            world.catalog::forget);

    assertThat(known).as("lanes read before the invalidation").isEmpty();
    world.catalog.refresh();
    assertThat(world.catalog.lanes()).isNotEmpty();
  }

  @Test
  void lanes_with_the_same_id_on_different_timelines_keep_their_own_types() {
    Lane current = world.catalog.lanes().iterator().next();
    Lane former =
        new Lane(
            current.id(),
            current.tenant(),
            "another",
            current.priority(),
            current.slice(),
            current.route());

    assertThat(world.catalog.type(former).name()).isEqualTo("another");
    assertThat(world.catalog.type(current).name()).isEqualTo(current.type());
  }

  private static Tenants.Settings paused(boolean paused) {
    return new Tenants.Settings(false, paused, 1, new AlertSetting.Inherited(), null);
  }

  @Test
  void saving_a_tenant_updates_only_that_tenant_in_the_catalog() {
    world.sql("UPDATE carillon.task_type SET paused = true");

    world.store.tenants().put("acme", paused(true), "test");

    assertThat(world.store.tenants().find("acme")).map(Tenant::paused).contains(true);
    assertThat(world.catalog.type(World.TENANT, "t").paused()).as("before a refresh").isFalse();
    world.catalog.refresh();
    assertThat(world.catalog.type(World.TENANT, "t").paused()).as("after a refresh").isTrue();
  }

  @Test
  void an_older_read_does_not_undo_a_changed_tenant() throws Exception {
    world.store.tenants().put("acme", paused(false), "test");

    overlapping.runWaiting(
        tx -> tx.update(LOCK_LANES),
        () -> { // reads the tenants before it waits for the lanes
          world.catalog.refresh();
          return true;
        },
        () -> world.store.tenants().put("acme", paused(true), "test"));

    assertThat(world.store.tenants().find("acme")).map(Tenant::paused).contains(true);
  }

  private static final String INSERT_TENANT =
      """
      /* CatalogTest.insertTenant */
      INSERT INTO carillon.tenant (name)
      VALUES ('acme')
      RETURNING id, name, strict, paused, weight, alert, publish, max_types, max_lanes, max_schedules, max_keys
      """;

  private Catalog.Written insertTenant(Tx tx) {
    return world.catalog.written(tx, tx.query(INSERT_TENANT, CatalogRows::tenant).getFirst());
  }

  @Test
  void a_new_tenant_is_known_at_once_despite_concurrent_changes() throws SQLException {
    world.catalog.refresh();
    try (SqlUser user = SqlUser.owner(world.address)) {
      Catalog.Written written =
          world.db.inTransaction(
              tx -> {
                Catalog.Written inserted = insertTenant(tx);
                enqueue(user);
                // Reads the version of the enqueue, which does not include the tenant.
                world.catalog.refresh();
                return inserted;
              });

      world.catalog.put(written);
    }

    assertThat(world.store.tenants().find("acme")).isPresent();
  }

  private static void enqueue(SqlUser user) {
    try {
      user.enqueue("'mail'");
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  @Timeout(20)
  void a_refresh_ends_even_if_an_added_tenant_is_newer() {
    Catalog.Written written = world.db.inTransaction(this::insertTenant);
    world.catalog.put(
        new Catalog.Written(written.tenant(), written.epoch(), written.version() + 1_000));
    world.sql("UPDATE carillon.catalog SET version = version + 1");

    world.catalog.refresh();

    assertThat(world.store.tenants().find("acme")).isPresent();
  }

  @Test
  void a_lane_with_a_lower_id_that_commits_later_is_found() {
    world.sql(
        "INSERT INTO carillon.lane (id, tenant, type, priority, slice, route) OVERRIDING SYSTEM"
            + " VALUE SELECT 1000, tenant, type, priority, 7, route FROM carillon.lane");
    world.catalog.refresh();
    world.sql(
        "INSERT INTO carillon.lane (id, tenant, type, priority, slice, route) OVERRIDING SYSTEM"
            + " VALUE SELECT 999, tenant, type, priority, 8, route FROM carillon.lane WHERE id ="
            + " 1000");

    world.catalog.refresh();

    assertThat(world.catalog.lanes()).extracting(Lane::id).contains(999, 1000);
  }

  @Test
  void concurrent_lookups_of_a_new_lane_all_find_it() throws Exception {
    int lanes = 2_000;
    world.sql(
        """
        INSERT INTO carillon.lane (tenant, type, priority, slice, route)
        SELECT tenant, type, priority, n, route
        FROM carillon.lane, generate_series(1000, 999 + %d) AS n
        """
            .formatted(lanes));
    int last = Integer.parseInt(world.value("SELECT max(id) FROM carillon.lane"));
    try (ExecutorService pool = Executors.newFixedThreadPool(4)) {
      for (int round = 0; round < 20; round++) {
        Catalog catalog = new Catalog(world.db, new Signal());
        Callable<Integer> lookup = () -> catalog.lane(last).id();
        for (Future<Integer> id : pool.invokeAll(Collections.nCopies(4, lookup))) {
          assertThat(id.get()).isEqualTo(last);
        }
      }
    }
  }
}
