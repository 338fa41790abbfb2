package carillon.bench;

import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The limit: what any scheduler that keeps its tasks and records each transition has to write,
 * written by the same statements in a loop inside PostgreSQL, and nothing else.
 */
final class SqlLimit implements Worker {

  private static final int BATCH = 2_000;
  private static final int CONNECTIONS = 2;

  /** As Carillon's own connections: statistics of a queue are old as soon as they are taken. */
  private static final String PLANS =
      "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";

  /** What a drain touches of Carillon's own tables, with the same indexes on it. */
  private static final String TABLES =
      """
      CREATE TYPE task_state AS ENUM ('PENDING', 'RUNNING', 'COMPLETED');
      CREATE TABLE task (
          tenant      int NOT NULL,
          id          uuid NOT NULL,
          lane        int NOT NULL,
          state       task_state NOT NULL,
          ready_at    timestamptz,
          due_at      timestamptz NOT NULL,
          created_at  timestamptz NOT NULL,
          version     int NOT NULL DEFAULT 1,
          attempt     int NOT NULL DEFAULT 0,
          fence       int NOT NULL DEFAULT 0,
          claim       uuid,
          leased_by   text,
          started_at  timestamptz,
          finished_at timestamptz,
          payload     text NOT NULL,
          PRIMARY KEY (tenant, id)
      ) WITH (fillfactor = 70);
      CREATE INDEX task_queue ON task (lane, ready_at) WHERE ready_at IS NOT NULL;
      CREATE TABLE transition (
          tenant     int NOT NULL,
          task       uuid NOT NULL,
          at         timestamptz NOT NULL,
          from_state task_state NOT NULL,
          to_state   task_state NOT NULL,
          fence      int NOT NULL,
          who        text NOT NULL
      );
      CREATE INDEX transition_task ON transition (tenant, task);
      """;

  /**
   * All in the server: no program, no wire, no parsing. Claims and ends are transactions of their
   * own, because whoever crashes between them must be found out.
   */
  private static final String DRAIN =
      """
      CREATE PROCEDURE drain(this_lane int, batch int, INOUT drained bigint) LANGUAGE plpgsql AS $$
      DECLARE
          this_claim uuid;
          ids        uuid[];
      BEGIN
          LOOP
              this_claim := gen_random_uuid();
              WITH due AS MATERIALIZED (
                  SELECT ctid AS row_id
                  FROM task
                  WHERE lane = this_lane
                    AND ready_at <= (SELECT clock_timestamp())
                  ORDER BY ready_at
                  LIMIT batch
                  FOR UPDATE SKIP LOCKED
              ), taken AS (
                  UPDATE task t
                  SET state = 'RUNNING',
                      ready_at = NULL,
                      version = version + 1,
                      attempt = attempt + 1,
                      fence = fence + 1,
                      claim = this_claim,
                      leased_by = 'node-1',
                      started_at = clock_timestamp()
                  FROM due
                  WHERE t.ctid = due.row_id
                  RETURNING t.tenant, t.id, t.fence, t.started_at
              ), trail AS (
                  INSERT INTO transition (tenant, task, at, from_state, to_state, fence, who)
                  SELECT tenant, id, started_at, 'PENDING', 'RUNNING', fence, 'node-1'
                  FROM taken
              )
              SELECT array_agg(id)
              INTO ids
              FROM taken;
              COMMIT;
              EXIT WHEN ids IS NULL;

              WITH done AS (
                  UPDATE task t
                  SET state = 'COMPLETED',
                      version = version + 1,
                      claim = NULL,
                      finished_at = clock_timestamp()
                  FROM unnest(ids) AS f (id)
                  WHERE t.tenant = 1
                    AND t.id = f.id
                    AND t.state = 'RUNNING'
                    AND t.claim = this_claim
                  RETURNING t.tenant, t.id, t.fence
              )
              INSERT INTO transition (tenant, task, at, from_state, to_state, fence, who)
              SELECT tenant, id, clock_timestamp(), 'RUNNING', 'COMPLETED', fence, 'node-1'
              FROM done;
              COMMIT;
              drained := drained + cardinality(ids);
          END LOOP;
      END
      $$
      """;

  private final Database database;
  private final AtomicLong finished = new AtomicLong();
  private int loads;

  private SqlLimit(Database database) {
    this.database = database;
  }

  static SqlLimit start(Database database) throws SQLException {
    database.execute(TABLES);
    database.execute(DRAIN);
    return new SqlLimit(database);
  }

  @Override
  public Database store() {
    return database;
  }

  @Override
  public String settings() {
    return "a procedure on %d connections; claim, transitions, commit, end, transitions, commit; batches of %,d; %s"
        .formatted(CONNECTIONS, BATCH, PLANS);
  }

  @Override
  public long pid() {
    return ProcessHandle.current().pid();
  }

  @Override
  public void load(int tasks) throws SQLException {
    insert(++loads, "n * interval '0 us'", tasks);
  }

  @Override
  public void loadFuture(int tasks) throws SQLException {
    insert(++loads, "interval '1 hour' + n * interval '30 days' / " + tasks, tasks);
  }

  private void insert(int load, String due, int tasks) throws SQLException {
    database.execute(
        """
        INSERT INTO task (tenant, id, lane, state, ready_at, due_at, created_at, payload)
        SELECT 1, uuidv7(n * interval '1 us'), %d, 'PENDING', due, due, clock_timestamp(), '%s'
        FROM generate_series(1, %d) n
        CROSS JOIN LATERAL (SELECT clock_timestamp() + %s AS due) d
        """
            .formatted(load, Tasks.payload(), tasks, due));
  }

  @Override
  public void release() {
    int load = loads;
    for (int i = 0; i < CONNECTIONS; i++) {
      Thread.ofPlatform().daemon().name("sql-", i).start(() -> drain(load));
    }
  }

  private void drain(int load) {
    try (Connection connection = database.connect();
        Statement statement = connection.createStatement();
        CallableStatement drain = connection.prepareCall("CALL drain(?, ?, ?)")) {
      statement.execute(PLANS);
      drain.setInt(1, load);
      drain.setInt(2, BATCH);
      drain.setLong(3, 0);
      drain.registerOutParameter(3, Types.BIGINT);
      drain.execute();
      finished.addAndGet(drain.getLong(3));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Known only when a connection has found nothing left. */
  @Override
  public long finished() {
    return finished.get();
  }

  @Override
  public double seconds(long tasks) throws SQLException {
    String completed = " FROM task WHERE state = 'COMPLETED' AND lane = " + loads;
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
