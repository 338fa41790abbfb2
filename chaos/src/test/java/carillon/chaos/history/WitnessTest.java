package carillon.chaos.history;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.chaos.cluster.Postgres;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the witness records of the statements of a program, on the program's own schema. */
class WitnessTest {

  private static final Path SCHEMA =
      Path.of("../server/src/main/resources/migrations/forward/V1__schema.sql");

  @TempDir private static Path directory;
  private static Postgres postgres;

  /** With the rights and the planner settings of a node. */
  private static Connection program;

  private static Connection harness;

  @BeforeAll
  static void install() throws Exception {
    postgres = Postgres.start(directory, Path.of("target", "postgres-bin"));
    postgres.createDatabase("witness");
    program = postgres.connect("witness");
    harness = postgres.connect("witness");
    execute(
        "SET ROLE carillon",
        "SET enable_seqscan = off",
        "SET enable_hashjoin = off",
        "SET enable_mergejoin = off",
        "SET plan_cache_mode = force_generic_plan",
        "CREATE SCHEMA carillon",
        Files.readString(SCHEMA),
        // Created before the witness and after it: both partitions have its triggers.
        "SELECT carillon.create_partition('2027-01-01')");
    Witness.install(harness);
    execute(
        "SELECT carillon.create_partition('2027-01-02')",
        "INSERT INTO carillon.lane (tenant, type, priority, slice, route) VALUES (1, 'web', 5, 0,"
            + " 'TYPE')",
        """
        INSERT INTO carillon.node (id, label, roles, version, lease_until)
        VALUES ('node-1-a', 'node-1', '{}', '1', '2027-01-01 10:00Z')
        """);
  }

  @AfterAll
  static void stop() throws SQLException {
    program.close();
    harness.close();
    postgres.close();
  }

  @BeforeEach
  void clear() throws SQLException {
    try (Statement statement = harness.createStatement()) {
      statement.execute(
          """
          TRUNCATE carillon.task, carillon.queue, carillon.claim, chaos.held, chaos.task_log
          RESTART IDENTITY
          """);
    }
  }

  private static void execute(String... statements) throws SQLException {
    try (Statement statement = program.createStatement()) {
      for (String each : statements) {
        statement.execute(each);
      }
    }
  }

  private static String id(int n) {
    return "00000000-0000-0000-0000-%012d".formatted(n);
  }

  private static void insert(int n, String day) throws SQLException {
    String suffix = day.replace("-", "");
    execute(
        """
        WITH task AS (
            INSERT INTO carillon.task_%1$s (tenant, id, partition, lane, ready_at, due_at, created_at, payload)
            VALUES (1, '%2$s', '%3$s', 1, '%3$s', '%3$s', '%3$s', '{}')
            RETURNING id, lane, ready_at, partition, octet_length(payload)
        )
        INSERT INTO carillon.queue_%1$s (id, lane, ready_at, partition, payload_bytes)
        SELECT * FROM task
        """
            .formatted(suffix, id(n), day));
  }

  private static void insert(int n) throws SQLException {
    insert(n, "2027-01-02");
  }

  /**
   * Claims a task by the row of a claim alone, as a claim does after it has deleted from the queue.
   */
  private static void claim(int claim, int n, int fence) throws SQLException {
    execute(
        """
        INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
        VALUES ('%s', 'node-1-a', 'node-1-a', '2027-01-02', '{1}', '{%s}', '{%d}')
        """
            .formatted(id(claim), id(n), fence));
  }

  private static void update(int n, String set) throws SQLException {
    execute("UPDATE carillon.task_20270102 SET " + set + " WHERE id = '" + id(n) + "'");
  }

  private static void end(int n, String state) throws SQLException {
    boolean isWaiting = state.equals("PENDING");
    update(
        n,
        "state = '%s', ready_at = %s, version = version + 2, attempt = attempt + 1, fence = fence + 1"
            .formatted(state, isWaiting ? "clock_timestamp()" : "NULL"));
  }

  /**
   * Each change in one line: states, versions, attempts and fences, and the claims if there are.
   */
  private static List<String> log() throws SQLException {
    List<String> lines = new ArrayList<>();
    try (Statement statement = harness.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT concat_ws(' ', right(task::text, 1), concat_ws('>', coalesce(from_state, '-'), coalesce(to_state, '-')),
                                 'v', concat_ws('>', from_version, to_version),
                                 'a', concat_ws('>', from_attempt, to_attempt),
                                 'f', concat_ws('>', from_fence, to_fence),
                                 'from ' || right(from_claim::text, 1) || ' ' || holder, 'to ' || right(to_claim::text, 1),
                                 CASE WHEN cancel THEN 'cancel' END, CASE WHEN edited THEN 'edited' END)
                FROM chaos.task_log
                ORDER BY seq
                """)) {
      while (rows.next()) {
        lines.add(rows.getString(1));
      }
    }
    return lines;
  }

  private static String last(String column) throws SQLException {
    try (Statement statement = harness.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT " + column + " FROM chaos.task_log ORDER BY seq DESC LIMIT 1")) {
      rows.next();
      return rows.getString(1);
    }
  }

  @Test
  void a_claim_and_its_end_are_logged_as_users_see_them() throws SQLException {
    insert(1);
    claim(7, 1, 1);
    end(1, "PENDING");
    claim(8, 1, 2);
    end(1, "COMPLETED");

    assertThat(log())
        .containsExactly(
            "1 ->PENDING v 1 a 0 f 0",
            "1 PENDING>RUNNING v 1>2 a 0>1 f 0>1 to 7",
            "1 RUNNING>PENDING v 2>3 a 1>1 f 1>1 from 7 node-1-a",
            "1 PENDING>RUNNING v 3>4 a 1>2 f 1>2 to 8",
            "1 RUNNING>COMPLETED v 4>5 a 2>2 f 2>2 from 8 node-1-a");
  }

  @Test
  void a_change_of_a_running_task_leaves_it_running() throws SQLException {
    insert(1);
    claim(7, 1, 1);
    update(1, "cancel_requested = true, version = version + 1");
    update(1, "progress = 'half', lease_until = '2027-01-01 11:00Z'");
    end(1, "CANCELLED");

    assertThat(log())
        .endsWith(
            "1 RUNNING>RUNNING v 2>3 a 1>1 f 1>1 from 7 node-1-a to 7 cancel",
            "1 RUNNING>RUNNING v 3>3 a 1>1 f 1>1 from 7 node-1-a to 7 cancel",
            "1 RUNNING>CANCELLED v 3>4 a 1>1 f 1>1 from 7 node-1-a cancel");
    assertThat(last("held_until = '2027-01-01 11:00Z'")).isEqualTo("t");
  }

  @Test
  void a_task_is_held_until_the_lease_of_its_node_or_claim_ends() throws SQLException {
    insert(1);
    claim(7, 1, 1);
    end(1, "DEAD");

    assertThat(last("held_until = '2027-01-01 10:00Z'")).isEqualTo("t");

    insert(2);
    execute(
        """
        INSERT INTO carillon.claim (id, leased_by, lease_until, check_at, partition, tenants, tasks, fences)
        VALUES ('%s', 'worker', '2027-01-01 12:00Z', now(), '2027-01-02', '{1}', '{%s}', '{1}')
        """
            .formatted(id(8), id(2)),
        "DELETE FROM carillon.claim");
    end(2, "DEAD");

    assertThat(last("held_until = '2027-01-01 12:00Z'")).isEqualTo("t");
    assertThat(last("holder")).isEqualTo("worker");
  }

  @Test
  void a_change_of_a_waiting_task_leaves_it_waiting() throws SQLException {
    insert(1);
    update(1, "payload = '{\"n\": 1}', version = version + 1");
    update(1, "state = 'CANCELLED', ready_at = NULL, version = version + 1");

    assertThat(log())
        .containsExactly(
            "1 ->PENDING v 1 a 0 f 0",
            "1 PENDING>PENDING v 1>2 a 0>0 f 0>0 edited",
            "1 PENDING>CANCELLED v 2>3 a 0>0 f 0>0");
  }

  @Test
  void an_end_without_a_claim_is_not_the_end_of_a_running_task() throws SQLException {
    insert(1);
    end(1, "COMPLETED");

    assertThat(log()).last().isEqualTo("1 PENDING>COMPLETED v 1>3 a 0>1 f 0>1");
  }

  @Test
  void a_write_under_an_old_fence_lowers_the_fence() throws SQLException {
    insert(1);
    claim(7, 1, 1);
    end(1, "PENDING");
    claim(8, 1, 2);
    update(
        1, "state = 'COMPLETED', ready_at = NULL, version = version + 2, attempt = 2, fence = 1");

    assertThat(log()).last().isEqualTo("1 RUNNING>COMPLETED v 4>5 a 2>2 f 2>1 from 8 node-1-a");
  }

  @Test
  void a_second_claim_of_a_task_is_recorded_as_such() throws SQLException {
    insert(1);
    claim(7, 1, 1);
    claim(8, 1, 1);

    assertThat(log()).last().isEqualTo("1 RUNNING>RUNNING v 2>2 a 1>1 f 1>1 from 7 node-1-a to 8");
  }

  @Test
  void a_claim_of_a_task_that_has_ended_is_recorded_as_such() throws SQLException {
    insert(1);
    update(1, "state = 'CANCELLED', ready_at = NULL, version = version + 1");
    claim(7, 1, 1);

    assertThat(log()).last().isEqualTo("1 CANCELLED>RUNNING v 2>3 a 0>1 f 0>1 to 7");
  }

  @Test
  void a_task_that_is_created_with_its_claim_is_created_first() throws SQLException {
    execute(
        """
        WITH task AS (
            INSERT INTO carillon.task_20270102 (tenant, id, partition, lane, ready_at, due_at, created_at)
            VALUES (1, '%s', '2027-01-02', 1, now(), now(), now())
            RETURNING id
        ), claimed AS (
            INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
            SELECT '%s', 'node-1-a', 'node-1-a', '2027-01-02', '{1}', array_agg(id), '{1}'
            FROM task
        )
        SELECT id FROM task
        """
            .formatted(id(1), id(7)));

    assertThat(log())
        .containsExactly("1 ->PENDING v 1 a 0 f 0", "1 PENDING>RUNNING v 1>2 a 0>1 f 0>1 to 7");
  }

  @Test
  void every_partition_is_watched() throws SQLException {
    insert(1, "2027-01-01");
    insert(2, "2027-01-02");
    execute("DELETE FROM carillon.task");

    assertThat(log())
        .containsExactlyInAnyOrder(
            "1 ->PENDING v 1 a 0 f 0",
            "2 ->PENDING v 1 a 0 f 0",
            "1 PENDING>- v 1 a 0 f 0",
            "2 PENDING>- v 1 a 0 f 0");
  }

  @Test
  void a_dump_contains_running_and_misplaced_tasks() throws Exception {
    insert(1); // in the queue
    insert(2); // in a claim
    execute("DELETE FROM carillon.queue WHERE id = '" + id(2) + "'");
    claim(7, 2, 1);
    insert(3); // in neither
    execute("DELETE FROM carillon.queue WHERE id = '" + id(3) + "'");
    Path run = Files.createDirectories(directory.resolve("run"));
    try (Connection another = postgres.connect("witness")) {
      Table.dump(another, run.resolve(History.DATABASE));
    }

    History history = History.read(run);

    assertThat(history.rows(Table.TASK))
        .extracting(row -> row.need("id") + " " + row.need("state") + " " + row.need("fence"))
        .containsExactlyInAnyOrder(
            id(1) + " PENDING 0", id(2) + " RUNNING 1", id(3) + " PENDING 0");
    assertThat(history.rows(Table.MISPLACED))
        .extracting(
            row -> row.need("task") + " " + row.need("queue_rows") + " " + row.need("claims"))
        .containsExactly(id(3) + " 0 0");
  }
}
