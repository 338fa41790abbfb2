package carillon.bench.systems;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The upper limit: a loop inside PostgreSQL writes to Carillon's tables what Carillon writes for
 * tasks that complete, and nothing else: no program, no network, no parsing, and no scheduling
 * decisions.
 */
public final class SqlLimit implements Worker {

  private static final int BATCH = 2_000;
  private static final int CONNECTIONS = 2;

  /** The same as Carillon's connections: statistics of a queue are always out of date. */
  private static final String PLANS =
      "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET"
          + " enable_mergejoin = off; SET enable_incremental_sort = off; SET"
          + " max_parallel_workers_per_gather = 0; SET plan_cache_mode = force_generic_plan";

  /**
   * Claiming and completing are separate transactions, because a crash between them must be
   * detectable. A claim deletes the rows of its tasks in queue and inserts one row in claim, as
   * WorkQueue.claimPlain does; the rows in task stay as they are. A completion sets the columns
   * that Completions.complete sets, once per task, and deletes the row in claim. The next claim
   * continues at the last position in the index, like the cursor of a lane.
   */
  private static final String DRAIN =
      """
      CREATE PROCEDURE drain(this_lane int, batch int, INOUT drained bigint) LANGUAGE plpgsql AS $$
      DECLARE
          this_claim uuid;
          from_at    timestamptz := '-infinity';
          ids        uuid[];
          lease      int;
      BEGIN
          LOOP
              this_claim := gen_random_uuid();
              WITH due AS MATERIALIZED (
                  SELECT ctid AS row_id
                  FROM carillon.queue_{partition}
                  WHERE lane = this_lane
                    AND ready_at >= from_at
                    AND ready_at <= (SELECT clock_timestamp())
                  ORDER BY ready_at
                  LIMIT batch
                  FOR UPDATE SKIP LOCKED
              ), taken AS (
                  DELETE FROM carillon.queue_{partition} q
                  USING due
                  WHERE q.ctid = due.row_id
                  RETURNING q.id, q.partition, q.fence + 1 AS fence, q.ready_at
              ), claimed AS (
                  INSERT INTO carillon.claim (id, node, leased_by, partition, tenants, tasks, fences)
                  SELECT this_claim, 'sql', 'sql', partition, array_agg(1), array_agg(id), array_agg(fence)
                  FROM taken
                  GROUP BY partition
              )
              SELECT array_agg(id), max(fence), max(ready_at)
              INTO ids, lease, from_at
              FROM taken;
              COMMIT;
              EXIT WHEN ids IS NULL;

              WITH f AS MATERIALIZED (
                  SELECT leased_by, started_at, lease AS fence
                  FROM carillon.claim
                  WHERE id = this_claim
              )
              UPDATE carillon.task_{partition} t
              SET state = 'COMPLETED',
                  ready_at = NULL,
                  finished_at = clock_timestamp(),
                  version = t.version + 2,
                  attempt = t.attempt + 1,
                  fence = f.fence,
                  leased_by = f.leased_by,
                  lease_until = NULL,
                  started_at = f.started_at,
                  status = NULL,
                  failure = NULL,
                  error = NULL,
                  output = NULL,
                  request = NULL,
                  progress = t.progress
              FROM f
              WHERE t.tenant = 1
                AND t.id = ANY (ids)
                AND t.state = 'PENDING'
                AND t.fence = f.fence - 1;
              DELETE FROM carillon.claim
              WHERE id = this_claim;
              COMMIT;
              drained := drained + cardinality(ids);
          END LOOP;
      END
      $$
      """;

  private final Database database;
  private final LocalDate day;
  private final AtomicLong finished = new AtomicLong();
  private int loads;

  private SqlLimit(Database database, LocalDate day) {
    this.database = database;
    this.day = day;
  }

  /**
   * @param database in which Carillon has created its tables
   */
  static SqlLimit start(Database database) throws SQLException {
    SqlLimit limit = new SqlLimit(database, LocalDate.now(ZoneOffset.UTC));
    database.execute("SELECT carillon.create_partition('" + limit.day + "')");
    database.execute(limit.inPartition(DRAIN));
    return limit;
  }

  private String inPartition(String sql) {
    return sql.replace("{partition}", day.format(DateTimeFormatter.BASIC_ISO_DATE));
  }

  @Override
  public Database store() {
    return database;
  }

  @Override
  public String settings() {
    return ("Carillon's own tables; a procedure on %d connections with a lane each: delete from the"
            + " queue, one row for the claim, commit, completion by id = ANY, delete that row,"
            + " commit; batches of %,d; %s")
        .formatted(CONNECTIONS, BATCH, PLANS);
  }

  @Override
  public long pid() {
    return ProcessHandle.current().pid();
  }

  @Override
  public void load(int tasks) throws SQLException {
    insert("interval '0'", tasks);
  }

  @Override
  public void loadFuture(int tasks) throws SQLException {
    insert("interval '1 hour' + n * interval '30 days' / " + tasks, tasks);
  }

  /**
   * Inserts what TaskInserts.insert does: a row in task and one in queue. Distributes tasks
   * round-robin to the lanes, as slices do.
   */
  private void insert(String due, int tasks) throws SQLException {
    loads++;
    database.execute(
        inPartition(
            """
            WITH created AS (
                INSERT INTO carillon.task_{partition} (
                    tenant, id, partition, lane, ready_at, due_at, created_at, payload)
                SELECT 1, uuidv7(n * interval '1 us'), '%1$s'::date, %2$d + n %% %3$d, due, due, clock_timestamp(),
                       '%5$s'
                FROM generate_series(1, %4$d) n
                CROSS JOIN LATERAL (SELECT clock_timestamp() + %6$s AS due) d
                RETURNING ready_at, expires_at, id, lane, partition, octet_length(payload) AS payload_bytes,
                    concurrency_key
            )
            INSERT INTO carillon.queue_{partition}
                (ready_at, expires_at, id, lane, partition, payload_bytes, concurrency_key)
            SELECT ready_at, expires_at, id, lane, partition, payload_bytes, concurrency_key
            FROM created
            """
                .formatted(day, lane(0), CONNECTIONS, tasks, Tasks.payload(), due)));
  }

  private int lane(int connection) {
    return loads * CONNECTIONS + connection;
  }

  @Override
  public void release() {
    for (int i = 0; i < CONNECTIONS; i++) {
      int lane = lane(i);
      Thread.ofPlatform().daemon().name("sql-", i).start(() -> drain(lane));
    }
  }

  private void drain(int lane) {
    try (Connection connection = database.connect();
        Statement statement = connection.createStatement();
        CallableStatement drain = connection.prepareCall("CALL drain(?, ?, ?)")) {
      statement.execute(PLANS);
      drain.setInt(1, lane);
      drain.setInt(2, BATCH);
      drain.setLong(3, 0);
      drain.registerOutParameter(3, Types.BIGINT);
      drain.execute();
      finished.addAndGet(drain.getLong(3));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Counts the tasks of a connection only when it has found no more. */
  @Override
  public long finished() {
    return finished.get();
  }

  /** From the start of the first claim: a completion copies that to its tasks. */
  @Override
  public double seconds(long tasks) throws SQLException {
    String completed =
        inPartition(
                " FROM carillon.task_{partition} WHERE state = 'COMPLETED' AND lane BETWEEN %d AND"
                    + " %d")
            .formatted(lane(0), lane(CONNECTIONS - 1));
    long count = Long.parseLong(database.one("SELECT count(*)" + completed));
    if (count != tasks) {
      throw new IllegalStateException(count + " of " + tasks + " tasks have completed");
    }
    return Double.parseDouble(
        database.one("SELECT extract(epoch FROM max(finished_at) - min(started_at))" + completed));
  }

  @Override
  public void close() throws SQLException {
    database.close();
  }
}
