package carillon.bench.systems;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlansTest {

  private static final String PARTITIONS =
      """
      carillon/engine> LOG:  duration: 0.020 ms  plan:
      \tQuery Text: /* Partitions.open */
      \tSELECT day
      \tIndex Scan using partition_pkey on partition  (cost=0.14..8.16 rows=1 width=4)
      """;

  private static final String PAGE =
      """
      carillon/api> LOG:  duration: %s ms  plan:
      \tQuery Text: /* TaskReader.page */
      \tSELECT id
      \tLimit  (cost=0.43..1.20 rows=50 width=16) (actual time=0.012..0.034 rows=50 loops=1)
      \t  Buffers: shared hit=4
      carillon/api> LOG:  could not receive data from client
      """;

  @TempDir Path directory;

  @Test
  void a_plan_has_its_statement_time_and_application_name() {
    var plans = Plans.parse(PAGE.formatted("1.250"));

    assertThat(plans).hasSize(1);
    assertThat(plans.getFirst().by()).isEqualTo("carillon/api");
    assertThat(plans.getFirst().name()).isEqualTo("TaskReader.page");
    assertThat(plans.getFirst().millis()).isEqualTo(1.25);
    assertThat(plans.getFirst().text())
        .startsWith("Query Text:")
        .endsWith("  Buffers: shared hit=4\n");
  }

  @Test
  void statements_without_a_name_are_ignored() {
    assertThat(Plans.parse(PAGE.replace("/* TaskReader.page */", ""))).isEmpty();
  }

  @Test
  void the_slowest_plan_of_a_request_is_recorded_and_background_statements_are_skipped()
      throws IOException {
    Path log = Files.writeString(directory.resolve("postgres.log"), PARTITIONS);
    Plans plans = new Plans(log);
    plans.skipLogged();

    append(
        log, PAGE.formatted("1.000") + PARTITIONS + PAGE.formatted("3.000") + PAGE.formatted("2"));
    plans.record("GET /v1/tasks");
    plans.record("GET /v1/limits");

    assertThat(plans.page())
        .contains("## GET /v1/tasks", "TaskReader.page, 3.00 ms", "answered from memory")
        .doesNotContain("Partitions.open", "1.00 ms");
  }

  private static void append(Path log, String text) throws IOException {
    Files.writeString(log, text, StandardOpenOption.APPEND);
  }
}
