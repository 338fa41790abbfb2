package carillon.bench;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The limit: what any scheduler that keeps its tasks and records each transition has to write,
 * written by plain statements in large batches, and nothing else.
 */
final class SqlLimit implements Contender {

  private static final int BATCH = 2_000;
  private static final int CONNECTIONS = 2;

  private static final String TABLES =
      """
      CREATE TABLE task (
          id          uuid PRIMARY KEY,
          load        int NOT NULL,
          state       text NOT NULL,
          ready_at    timestamptz,
          started_at  timestamptz,
          finished_at timestamptz,
          payload     text NOT NULL
      ) WITH (fillfactor = 70);
      CREATE INDEX task_queue ON task (load, ready_at) WHERE ready_at IS NOT NULL;
      CREATE TABLE transition (
          task       uuid NOT NULL,
          at         timestamptz NOT NULL,
          from_state text NOT NULL,
          to_state   text NOT NULL
      );
      CREATE INDEX transition_task ON transition (task);
      """;

  private static final String CLAIM =
      """
      WITH due AS MATERIALIZED (
          SELECT ctid AS row_id
          FROM task
          WHERE load = ?
            AND ready_at <= (SELECT clock_timestamp())
          ORDER BY ready_at
          LIMIT ?
          FOR UPDATE SKIP LOCKED
      ), taken AS (
          UPDATE task t
          SET state = 'RUNNING',
              ready_at = NULL,
              started_at = clock_timestamp()
          FROM due
          WHERE t.ctid = due.row_id
          RETURNING t.id, t.payload
      ), trail AS (
          INSERT INTO transition (task, at, from_state, to_state)
          SELECT id, clock_timestamp(), 'PENDING', 'RUNNING'
          FROM taken
      )
      SELECT id, payload
      FROM taken
      """;

  private static final String FINISH =
      """
      WITH done AS (
          UPDATE task
          SET state = 'COMPLETED',
              finished_at = clock_timestamp()
          WHERE id = ANY (?)
            AND state = 'RUNNING'
          RETURNING id
      )
      INSERT INTO transition (task, at, from_state, to_state)
      SELECT id, clock_timestamp(), 'RUNNING', 'COMPLETED'
      FROM done
      """;

  private final Database database;
  private final AtomicLong finished = new AtomicLong();
  private int loads;

  private SqlLimit(Database database) {
    this.database = database;
  }

  static SqlLimit start(Database database) throws SQLException {
    database.execute(TABLES);
    return new SqlLimit(database);
  }

  @Override
  public Database database() {
    return database;
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
        INSERT INTO task (id, load, state, ready_at, payload)
        SELECT uuidv7(n * interval '1 us'), %d, 'PENDING', clock_timestamp() + %s, '%s'
        FROM generate_series(1, %d) n
        """
            .formatted(load, due, Tasks.payload(), tasks));
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
        PreparedStatement claim = connection.prepareStatement(CLAIM);
        PreparedStatement finish = connection.prepareStatement(FINISH)) {
      connection
          .createStatement()
          .execute(
              "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off");
      connection.setAutoCommit(false);
      while (true) {
        List<UUID> ids = claim(claim, load);
        connection.commit();
        if (ids.isEmpty()) {
          return;
        }
        Array array = connection.createArrayOf("uuid", ids.toArray());
        finish.setArray(1, array);
        finish.executeUpdate();
        connection.commit();
        finished.addAndGet(ids.size());
      }
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<UUID> claim(PreparedStatement claim, int load) throws SQLException {
    claim.setInt(1, load);
    claim.setInt(2, BATCH);
    List<UUID> ids = new ArrayList<>(BATCH);
    try (ResultSet rows = claim.executeQuery()) {
      while (rows.next()) {
        ids.add(rows.getObject(1, UUID.class));
        rows.getString(2); // a program would need it
      }
    }
    return ids;
  }

  @Override
  public long finished() {
    return finished.get();
  }

  @Override
  public double seconds(int tasks) throws SQLException {
    String completed = " FROM task WHERE state = 'COMPLETED' AND load = " + loads;
    long count = Long.parseLong(database.one("SELECT count(*)" + completed));
    if (count != tasks) {
      throw new IllegalStateException(count + " of " + tasks + " tasks have completed");
    }
    return Double.parseDouble(
        database.one("SELECT extract(epoch FROM max(finished_at) - min(started_at))" + completed));
  }

  @Override
  public void close() {
    // its threads end when nothing is left
  }
}
