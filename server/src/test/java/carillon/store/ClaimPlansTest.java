package carillon.store;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.Partition;
import carillon.store.db.Sql;
import carillon.testkit.World;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A claim is found by its id even if statistics say that there is only one. Under an old snapshot
 * there are also all that were deleted since, and a statement that reads them all takes seconds.
 */
class ClaimPlansTest {

  static World world;
  static Partition partition;

  @BeforeAll
  static void deleteMostClaims() {
    world = World.create();
    world.discard();
    partition = Partition.of(world.clock.instant());
    world.sql("ALTER TABLE carillon.claim SET (autovacuum_enabled = false)");
    world.sql(
        """
        INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
        SELECT gen_random_uuid(), 'n', 'n' || n, DATE '%s', '{1}', ARRAY[gen_random_uuid()], '{1}'
        FROM generate_series(1, 50000) AS n
        """
            .formatted(partition.day()));
    world.sql("DELETE FROM carillon.claim WHERE leased_by <> 'n1'");
    world.sql("ANALYZE carillon.claim");
    assertThat(world.value("SELECT reltuples FROM pg_class WHERE oid = 'carillon.claim'::regclass"))
        .isEqualTo("1");
  }

  @AfterAll
  static void close() {
    world.sql("DELETE FROM carillon.claim");
    world.close();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Completions.complete",
        "HeldClaims.held",
        "HeldClaims.retireOver",
        "LeaseRenewals.checkSooner",
        "Outcomes.finish",
        "WorkQueue.content",
        "WorkerClaims.held"
      })
  void a_claim_is_found_by_its_id(String name) {
    String plan = QueryPlans.genericPlan(world, Sql.forPartition(statement(name), partition));

    assertThat(plan)
        .containsPattern("using claim_pkey on claim c .*\n +Index Cond: \\(.*id = ")
        .doesNotContainPattern("using \\w+ on claim c .*\n(?! +Index Cond)");
  }

  @ParameterizedTest
  @ValueSource(strings = "HeldClaims.lapsed")
  void claims_of_lapsed_holders_are_found_by_index(String name) {
    String plan = QueryPlans.genericPlan(world, statement(name));

    assertThat(plan)
        .containsPattern("using claim_node on claim c .*\n +Index Cond: \\(node = ")
        .doesNotContainPattern("using \\w+ on claim c\\w* .*\n(?! +Index Cond)");
  }

  private static String statement(String name) {
    return QueryPlans.statements()
        .filter(sql -> sql.startsWith("/* " + name + " */"))
        .findFirst()
        .orElseThrow();
  }
}
