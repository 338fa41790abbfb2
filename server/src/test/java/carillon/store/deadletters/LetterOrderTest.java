package carillon.store.deadletters;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.store.QueryPlans;
import carillon.testkit.World;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LetterOrderTest {

  @Test
  void a_search_scans_the_age_index_even_if_statistics_favor_ids() {
    try (World world = World.create()) {
      world.sql("ALTER TABLE carillon.dead_letter DISABLE TRIGGER USER"); // without groups: faster
      world.sql(
          """
          INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error)
          SELECT CASE WHEN n % 20 = 0 THEN 2 + n / 20 % 48 ELSE 1 END,
                 (lpad(to_hex(n), 12, '0') || '70008000' || lpad(n::text, 12, '0'))::uuid, current_date, 't',
                 now() + n * interval '1 ms', 'the backend refused it'
          FROM generate_series(1, 100000) AS n
          """);
      world.sql("VACUUM ANALYZE carillon.dead_letter");
      var filter =
          new DeadLetterFilter(
              null, null, null, "no such text", null, null, null, Map.of(), null, List.of());

      var page =
          world.db.inTransaction(
              tx ->
                  LetterSearch.pageQuery(
                          tx, World.TENANT, filter, LetterSearch.Order.NEWEST_FIRST, null, 100)
                      .orElseThrow());

      assertThat(QueryPlans.genericPlan(world, page.sql()))
          .contains("using dead_letter_age")
          .doesNotContain("Incremental Sort");
    }
  }
}
