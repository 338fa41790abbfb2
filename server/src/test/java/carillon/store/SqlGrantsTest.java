package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Partition;
import carillon.store.catalog.Tenants;
import carillon.store.db.Migrations;
import carillon.testkit.SqlUser;
import carillon.testkit.World;
import java.sql.SQLException;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SqlGrantsTest {

  private World world;
  private String role; // random, because all databases of a server share its roles
  private SqlUser user;

  @BeforeEach
  void open() throws SQLException {
    world = World.create();
    world.partitions.ensure(Partition.of(world.clock.instant()));
    world.store.tenants().put("shop", Tenants.Settings.DEFAULT, "test");
    world.store.tenants().put("bank", Tenants.Settings.DEFAULT, "test");
    role = "Role \"" + UUID.randomUUID();
    world.sqlAsSuperuser("CREATE ROLE " + quoted(role) + " LOGIN");
    user = SqlUser.as(role, world.address);
  }

  @AfterEach
  void close() throws SQLException {
    user.close();
    world.sqlAsSuperuser("DROP OWNED BY " + quoted(role));
    world.sqlAsSuperuser("DROP ROLE " + quoted(role));
    world.close();
  }

  private static String quoted(String name) {
    return '"' + name.replace("\"", "\"\"") + '"';
  }

  private void grant(String arguments) {
    world.sql("SELECT carillon.grant_enqueue('" + role + "'" + arguments + ")");
  }

  private String tenantOf(String task) {
    return world.value(
        "SELECT n.name FROM carillon.task t JOIN carillon.tenant n ON n.id = t.tenant"
            + " WHERE t.id = '"
            + task
            + "'");
  }

  @Test
  void a_role_may_enqueue_only_while_it_has_a_grant() throws SQLException {
    assertThatThrownBy(() -> user.enqueue("'mail'")).hasMessageContaining("permission denied");
    grant("");
    assertThat(tenantOf(user.enqueue("'mail'"))).isEqualTo("default");
    assertThat(user.cancel("'mail', 'k'")).isZero();

    world.sql("SELECT carillon.revoke_enqueue('" + role + "')");

    assertThatThrownBy(() -> user.enqueue("'mail'")).hasMessageContaining("permission denied");
    assertThat(world.value("SELECT count(*) FROM carillon.sql_role")).isEqualTo("0");
  }

  private static final List<String> FORBIDDEN =
      List.of(
          "SELECT * FROM carillon.task",
          "SELECT * FROM carillon.every_transition",
          "SELECT * FROM carillon.sql_role",
          "SELECT secret FROM carillon.catalog",
          "INSERT INTO carillon.cancel_request (tenant, task, partition, who)"
              + " VALUES (1, gen_random_uuid(), now(), 'me')",
          "UPDATE carillon.tenant SET strict = true",
          "SELECT carillon.grant_enqueue(current_user, 'bank')",
          "SELECT carillon.revoke_enqueue(current_user)",
          "SELECT carillon.create_partition('2030-01-01')",
          "SELECT carillon.create_lane(1, 'x', 5)",
          "SELECT carillon.live_tasks(1, 'x', 'k', 1)",
          "SELECT carillon.cancel_waiting(1, '2030-01-01', '{}', 'me')",
          "SELECT carillon.sql_caller('bank', 'mail')",
          "CREATE FUNCTION carillon.enqueue(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
          "SET ROLE postgres");

  @Test
  void a_grant_allows_enqueue_and_cancel_only() {
    grant("");
    for (String forbidden : FORBIDDEN) {
      assertThatThrownBy(() -> user.sql(forbidden))
          .as(forbidden)
          .hasMessageContaining("permission denied");
    }
  }

  @Test
  void no_function_is_executable_by_public() {
    assertThat(
            world.value(
                """
                SELECT string_agg(p.proname, ' ')
                FROM pg_proc p
                WHERE p.pronamespace = 'carillon'::regnamespace
                  AND (p.proacl IS NULL
                       OR EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0))
                """))
        .isEqualTo("null");
  }

  @Test
  void a_role_acts_only_for_its_tenant_and_types() throws SQLException {
    grant(", 'shop', '{mail,bill}'");

    assertThat(tenantOf(user.enqueue("'mail'"))).isEqualTo("shop");
    assertThat(tenantOf(user.enqueue("'bill', tenant => 'shop'"))).isEqualTo("shop");
    for (String other : List.of("'other'", "'mail', tenant => 'bank'", "'mail', tenant => 'no'")) {
      assertThatThrownBy(() -> user.enqueue(other))
          .hasMessageContaining("has no access to")
          .extracting(e -> ((SQLException) e).getSQLState())
          .isEqualTo("42501");
    }
    assertThatThrownBy(() -> user.cancel("'other', 'k'")).hasMessageContaining("has no access to");
  }

  @Test
  void cancel_and_unique_ignore_tasks_of_other_tenants() throws SQLException {
    String theirs;
    try (SqlUser owner = SqlUser.owner(world.address)) {
      theirs =
          owner.enqueue("'mail', key => 'k', unique_for => interval '1 day', tenant => 'bank'");
    }
    grant(", 'shop'");

    assertThat(user.cancel("'mail', 'k'")).isZero();
    assertThat(user.enqueue("'mail', key => 'k', unique_for => interval '1 day'"))
        .isNotEqualTo(theirs);
    assertThat(world.value("SELECT state FROM carillon.task WHERE id = '" + theirs + "'"))
        .isEqualTo("PENDING");
  }

  @Test
  void a_role_with_several_tenants_must_name_one() throws SQLException {
    grant(", 'shop'");
    grant(", 'bank', '{mail}'");

    assertThatThrownBy(() -> user.enqueue("'mail'")).hasMessageContaining("several tenants");
    assertThat(tenantOf(user.enqueue("'mail', tenant => 'bank'"))).isEqualTo("bank");
    assertThatThrownBy(() -> user.enqueue("'bill', tenant => 'bank'"))
        .hasMessageContaining("has no access to");
  }

  @Test
  void set_role_limits_the_session_to_the_grants_of_that_role() throws SQLException {
    String narrow = "narrow-" + UUID.randomUUID();
    world.sqlAsSuperuser("CREATE ROLE " + quoted(narrow));
    world.sqlAsSuperuser("GRANT " + quoted(narrow) + " TO " + quoted(role));
    world.sql("SELECT carillon.grant_enqueue('" + narrow + "', 'bank')");
    grant(", 'shop'");

    assertThat(tenantOf(user.enqueue("'mail', tenant => 'shop'"))).isEqualTo("shop");
    assertThat(tenantOf(user.enqueue("'mail', tenant => 'bank'"))).isEqualTo("bank");
    user.sql("SET ROLE " + quoted(narrow));
    assertThat(tenantOf(user.enqueue("'mail'"))).isEqualTo("bank");
    assertThatThrownBy(() -> user.enqueue("'mail', tenant => 'shop'"))
        .hasMessageContaining("has no access to");
    user.sql("RESET ROLE");
    world.sqlAsSuperuser("DROP OWNED BY " + quoted(narrow));
    world.sqlAsSuperuser("DROP ROLE " + quoted(narrow));
  }

  @Test
  void a_grant_follows_a_renamed_role() throws SQLException {
    grant(", 'shop'");
    String renamed = role + " new";
    world.sqlAsSuperuser("ALTER ROLE " + quoted(role) + " RENAME TO " + quoted(renamed));
    String former = role;
    role = renamed;
    world.sqlAsSuperuser("CREATE ROLE " + quoted(former));
    world.sql("SELECT carillon.grant_enqueue('" + former + "', 'bank')");

    assertThat(
            world.value(
                "SELECT count(*) FROM carillon.sql_role WHERE role = '%s'::regrole"
                    .formatted(quoted(former))))
        .isEqualTo("1");
    world.sqlAsSuperuser("DROP OWNED BY " + quoted(former));
    world.sqlAsSuperuser("DROP ROLE " + quoted(former));
    try (SqlUser again = SqlUser.as(renamed, world.address)) {
      assertThat(tenantOf(again.enqueue("'mail'"))).isEqualTo("shop");
    }
  }

  @Test
  void objects_that_shadow_builtins_are_not_used() throws SQLException {
    grant("");
    world.sql("CREATE SCHEMA trap");
    world.sql("GRANT ALL ON SCHEMA trap TO " + quoted(role));
    user.sql(
        "CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE sql"
            + " AS 'SELECT 1 / 0 * interval ''1 s'' + now()'");
    user.sql(
        "CREATE FUNCTION trap.pg_has_role(name, oid, text) RETURNS boolean LANGUAGE sql"
            + " AS 'SELECT true'");
    user.sql("CREATE FUNCTION trap.eq(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'");
    user.sql("CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.eq)");
    user.sql("CREATE TEMP TABLE sql_role (role regrole, tenant int, types text[])");
    user.sql("CREATE TEMP TABLE tenant (id int, name text, strict boolean)");
    user.sql("CREATE TEMP TABLE pg_namespace (nspname text, nspowner oid)");
    user.sql(
        "INSERT INTO pg_temp.pg_namespace"
            + " SELECT 'carillon', oid FROM pg_roles WHERE rolname = session_user");
    user.sql("SET search_path = trap, pg_temp, pg_catalog");

    assertThat(tenantOf(user.enqueue("'mail', key => 'k', unique_for => interval '1 hour'")))
        .isEqualTo("default");
    assertThatThrownBy(() -> user.enqueue("'mail', tenant => 'bank'"))
        .hasMessageContaining("has no access to");
    assertThat(user.cancel("'mail', 'k'")).isEqualTo(1);
    user.sql("RESET search_path");
  }

  @Test
  void rolling_the_schema_back_removes_grants_and_keeps_tasks() throws SQLException {
    grant("");
    user.enqueue("'mail'");
    Migrations migrations =
        Migrations.open(world.address.url(), world.address.user(), world.address.password());

    migrations.apply(OptionalInt.of(1));

    assertThatThrownBy(() -> user.enqueue("'mail'")).hasMessageContaining("permission denied");
    assertThat(world.value("SELECT count(*) FROM carillon.task")).isEqualTo("1");
    migrations.apply(OptionalInt.empty());
    grant("");
    assertThat(user.enqueue("'mail'")).isNotEmpty();
  }
}
