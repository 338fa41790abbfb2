package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.testkit.Postgres;
import carillon.testkit.World;
import org.junit.jupiter.api.Test;

/** The tests connect as the unprivileged role that docs/operations.md describes. */
class PlainRoleTest {

  static final String ATTRIBUTES =
      """
      SELECT concat_ws(' ', CASE WHEN r.rolsuper THEN 'SUPERUSER' END,
                            CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
                            CASE WHEN r.rolcreatedb THEN 'CREATEDB' END,
                            CASE WHEN r.rolreplication THEN 'REPLICATION' END,
                            CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END,
                            (SELECT string_agg(m.roleid::regrole::text, ' ')
                             FROM pg_auth_members m
                             WHERE m.member = r.oid),
                            (SELECT string_agg(p.parname, ' ')
                             FROM pg_parameter_acl p
                             WHERE p.paracl::text LIKE '%' || r.rolname || '%'))
      FROM pg_roles r
      WHERE r.rolname = current_user
      """;

  @Test
  void tests_connect_as_a_role_without_attributes_memberships_or_parameters() {
    try (World world = World.create()) {
      assertThat(world.value(ATTRIBUTES)).isEmpty();
      assertThat(world.value("SELECT current_user || ' ' || session_user"))
          .isEqualTo("carillon carillon");
      assertThat(
              world.value(
                  "SELECT count(*) FROM pg_class WHERE relnamespace = 'carillon'::regnamespace"
                      + " AND relowner <> 'carillon'::regrole"))
          .isEqualTo("0");
    }
    assertThat(Postgres.asSuperuser(Postgres.emptyDatabase()).user()).isEqualTo("postgres");
  }
}
