package carillon.store.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.model.Partition;
import carillon.model.target.Target;
import carillon.store.db.StoreException;
import carillon.testkit.Postgres;
import carillon.testkit.World;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PartitionsTest {

  private static final Partition OLD = new Partition(LocalDate.of(2020, 1, 1));
  private static final Partition CUTOFF = new Partition(LocalDate.of(2020, 6, 1));

  private World world;

  @BeforeEach
  void open() {
    world = World.create();
    world.create(World.task("t", new Target.Discard()));
    world.partitions.ensure(OLD);
  }

  @AfterEach
  void close() {
    world.close();
  }

  private void put(String state, String readyAt) {
    world.sql(
        """
        INSERT INTO carillon.task (tenant, id, partition, lane, state, ready_at, due_at, created_at)
        VALUES (1, gen_random_uuid(), DATE '2020-01-01', 1, '%s', %s, now(), now())
        """
            .formatted(state, readyAt));
  }

  @Test
  void a_new_partition_has_room_on_its_pages_for_all_versions_of_a_task() {
    assertThat(options("task_20200101"))
        .isEqualTo(
            "{fillfactor=50,autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_threshold=20000,"
                + "autovacuum_analyze_scale_factor=0.05}");
    assertThat(options("queue_20200101"))
        .isEqualTo(
            "{vacuum_truncate=off,autovacuum_vacuum_scale_factor=0.02,"
                + "autovacuum_vacuum_threshold=20000}");
  }

  @Test
  void changed_storage_settings_apply_to_new_partitions() {
    world.sql(
        "UPDATE carillon.partition_settings SET table_fillfactor = 90,"
            + " vacuum_threshold = 1, vacuum_scale_factor = 0.00001, analyze_scale_factor = 100");

    world.partitions.ensure(new Partition(LocalDate.of(2020, 1, 2)));

    assertThat(options("task_20200102"))
        .isEqualTo(
            "{fillfactor=90,autovacuum_vacuum_scale_factor=1e-05,autovacuum_vacuum_threshold=1,"
                + "autovacuum_analyze_scale_factor=100}");
    assertThat(options("queue_20200102"))
        .isEqualTo(
            "{vacuum_truncate=off,autovacuum_vacuum_scale_factor=1e-05,"
                + "autovacuum_vacuum_threshold=1}");
    assertThat(options("task_20200101")).contains("fillfactor=50");
  }

  @ParameterizedTest
  @CsvSource({
    "table_fillfactor, 9",
    "table_fillfactor, 101",
    "vacuum_threshold, -1",
    "vacuum_scale_factor, -0.1",
    "vacuum_scale_factor, 101",
    "analyze_scale_factor, -0.1",
    "analyze_scale_factor, 101",
    "only_row, false"
  })
  void an_invalid_storage_setting_is_rejected(String column, String value) {
    assertThatThrownBy(
            () -> world.sql("UPDATE carillon.partition_settings SET " + column + " = " + value))
        .hasStackTraceContaining("violates check constraint");
  }

  private String options(String relation) {
    return world.value(
        "SELECT reloptions::text FROM pg_class WHERE oid = 'carillon.%s'::regclass"
            .formatted(relation));
  }

  @Test
  void a_partition_dropped_through_another_handle_can_be_created_again() {
    assertThat(world.partitions.through(world.db).dropBefore(CUTOFF)).isEqualTo(1);

    world.partitions.ensure(OLD);

    assertThat(world.value("SELECT count(*) FROM carillon.partition WHERE day = '2020-01-01'"))
        .isEqualTo("1");
  }

  private static final String READ_MISSING_TABLE =
      """
      /* PartitionsTest.readMissingTable */
      SELECT 1 AS n
      FROM carillon.task_19990101
      """;

  @Test
  void work_over_all_partitions_is_retried_when_a_partition_disappears() {
    AtomicInteger runs = new AtomicInteger();

    assertThat(
            Partitions.whileTheyChange(
                () ->
                    runs.incrementAndGet() == 1
                        ? read(READ_MISSING_TABLE, new AtomicInteger())
                        : 7))
        .isEqualTo(7);
    assertThat(runs).hasValue(2);

    AtomicInteger attempts = new AtomicInteger();
    assertThatThrownBy(() -> Partitions.whileTheyChange(() -> read(READ_MISSING_TABLE, attempts)))
        .isInstanceOf(StoreException.class);
    assertThat(attempts).hasValue(3);
  }

  @Test
  void only_work_over_all_partitions_is_retried_for_a_missing_table() {
    AtomicInteger attempts = new AtomicInteger();

    assertThatThrownBy(() -> read(READ_MISSING_TABLE, attempts)).isInstanceOf(StoreException.class);

    assertThat(attempts).hasValue(1);
  }

  private int read(String sql, AtomicInteger attempts) {
    return world.db.inTransaction(
        tx -> {
          attempts.incrementAndGet();
          return tx.query(sql, row -> row.getInt("n")).getFirst();
        });
  }

  @Test
  void an_old_partition_with_only_finished_tasks_is_dropped() {
    put("COMPLETED", "NULL");

    assertThat(world.partitions.dropBefore(CUTOFF)).isEqualTo(1);

    assertThat(world.value("SELECT count(*) FROM carillon.partition WHERE day = '2020-01-01'"))
        .isEqualTo("0");
    assertThat(world.value("SELECT count(*) FROM pg_class WHERE relname LIKE '%_20200101'"))
        .isEqualTo("0");
    assertThat(world.partitions.dropBefore(CUTOFF)).isZero();
  }

  @ParameterizedTest
  @CsvSource({"PENDING, now(), false", "PENDING, now(), true", "DEAD, NULL, false"})
  void a_partition_with_live_or_dead_tasks_is_kept(
      String state, String readyAt, boolean isClaimed) {
    put(state, readyAt);
    if (isClaimed) {
      world.sql(
          """
          INSERT INTO carillon.claim (id, leased_by, lease_until, check_at, partition, tenants, tasks, fences)
          SELECT gen_random_uuid(), 'worker', now(), now(), partition, ARRAY[tenant], ARRAY[id], ARRAY[1]
          FROM carillon.task
          WHERE partition = '2020-01-01'
          """);
      world.requeue();
    }
    world.sql(
        """
        INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at)
        SELECT tenant, id, partition, 't', now() FROM carillon.task WHERE state = 'DEAD'
        """);

    assertThat(world.partitions.dropBefore(CUTOFF)).isZero();
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE partition = '2020-01-01'"))
        .isEqualTo("1");
  }

  @Test
  void a_partition_with_uncommitted_writes_is_kept() throws SQLException {
    try (Connection busy = Postgres.connect(world.address);
        Statement statement = busy.createStatement()) {
      busy.setAutoCommit(false);
      statement.execute(
          """
          INSERT INTO carillon.task (tenant, id, partition, lane, ready_at, due_at, created_at)
          VALUES (1, gen_random_uuid(), DATE '2020-01-01', 1, now(), now(), now());
          INSERT INTO carillon.queue (id, partition, lane, ready_at)
          SELECT id, partition, lane, ready_at FROM carillon.task WHERE partition = '2020-01-01'
          """);

      assertThat(world.partitions.dropBefore(CUTOFF)).isZero();
      busy.commit();
    }

    assertThat(world.partitions.dropBefore(CUTOFF)).isZero();
    assertThat(world.value("SELECT count(*) FROM carillon.task WHERE partition = '2020-01-01'"))
        .isEqualTo("1");
  }
}
