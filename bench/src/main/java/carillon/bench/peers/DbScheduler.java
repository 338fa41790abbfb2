package carillon.bench.peers;

import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.serializer.JavaSerializer;
import com.github.kagkarlsson.scheduler.task.SchedulableInstance;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** db-scheduler, polling with lock-and-fetch. */
final class DbScheduler implements Library {

  private static final int THREADS = 20;
  private static final double LOWER = 4;
  private static final double UPPER = 20;
  private static final int BATCH = 2_000;
  private static final int BATCH_THREADS = 2;
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration POLL_ON_TIME = Duration.ofMillis(10);

  /** The table from its documentation; without the priority index, as priorities are off. */
  private static final String TABLE =
      """
      CREATE TABLE scheduled_tasks (
          task_name            text NOT NULL,
          task_instance        text NOT NULL,
          task_data            bytea,
          execution_time       timestamptz NOT NULL,
          picked               boolean NOT NULL,
          picked_by            text,
          last_success         timestamptz,
          last_failure         timestamptz,
          consecutive_failures int,
          last_heartbeat       timestamptz,
          version              bigint NOT NULL,
          priority             smallint,
          PRIMARY KEY (task_name, task_instance)
      );
      CREATE INDEX scheduled_tasks_execution_time ON scheduled_tasks (execution_time);
      CREATE INDEX scheduled_tasks_last_heartbeat ON scheduled_tasks (last_heartbeat);
      """;

  private final DataSource database;
  private final String payload;
  private final OneTimeTask<String> task;
  private final SchedulerClient client;
  private final AtomicLong ids = new AtomicLong();
  private @Nullable Scheduler scheduler;

  DbScheduler(DataSource database, String payload, Runs runs) throws SQLException {
    this.database = database;
    this.payload = payload;
    this.task =
        Tasks.oneTime("bench", String.class)
            .execute((_, context) -> runs.ran(context.getExecution().executionTime));
    this.client = SchedulerClient.Builder.create(database, task).build();
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement()) {
      statement.execute(TABLE);
    }
  }

  @Override
  public Class<?> libraryClass() {
    return Scheduler.class;
  }

  @Override
  public String settings() {
    return ("lock-and-fetch, threads %d, limits %.0f and %.0f, poll %d ms (on time: %d ms),"
            + " scheduleBatch of 1 or, in bulk, of %,d on %d threads, reWriteBatchedInserts")
        .formatted(
            THREADS, LOWER, UPPER, POLL.toMillis(), POLL_ON_TIME.toMillis(), BATCH, BATCH_THREADS);
  }

  @Override
  public void load(int jobs) throws SQLException {
    insert(jobs, "clock_timestamp()");
  }

  @Override
  public void loadFuture(int jobs) throws SQLException {
    insert(jobs, "now() + interval '1 hour' + n * (interval '30 days' / " + jobs + ")");
  }

  private void insert(int jobs, String due) throws SQLException {
    long first = ids.getAndAdd(jobs);
    String sql =
        """
        INSERT INTO scheduled_tasks (task_name, task_instance, task_data, execution_time, picked, version, priority)
        SELECT 'bench', (? + n)::text, ?, %s, false, 1, 50
        FROM generate_series(0, ? - 1) n
        """
            .formatted(due);
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setLong(1, first);
      statement.setBytes(2, new JavaSerializer().serialize(payload));
      statement.setInt(3, jobs);
      statement.executeUpdate();
    }
  }

  @Override
  public void work(boolean onTime) {
    scheduler =
        Scheduler.create(database, task)
            .threads(THREADS)
            .pollUsingLockAndFetch(LOWER, UPPER)
            .pollingInterval(onTime ? POLL_ON_TIME : POLL)
            .build();
    scheduler.start();
  }

  @Override
  public void stop() {
    if (scheduler != null) {
      scheduler.stop();
      scheduler = null;
    }
  }

  @Override
  public long remaining() throws SQLException {
    try (Connection connection = database.getConnection();
        Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT count(*) FROM scheduled_tasks WHERE execution_time <= now()")) {
      rows.next();
      return rows.getLong(1);
    }
  }

  /**
   * Uses a batch of one: the other calls check first whether the job exists and take twice as long.
   */
  @Override
  public void enqueue(Instant due) {
    client.scheduleBatch(jobs(List.of(due)));
  }

  @Override
  public void enqueueAll(List<Instant> due) throws Exception {
    Calls.inBatches(due, BATCH, BATCH_THREADS, part -> client.scheduleBatch(jobs(part)));
  }

  private List<SchedulableInstance<?>> jobs(List<Instant> due) {
    List<SchedulableInstance<?>> jobs = new ArrayList<>(due.size());
    due.forEach(instant -> jobs.add(job(instant)));
    return jobs;
  }

  private SchedulableInstance<String> job(Instant due) {
    String id = Long.toString(ids.getAndIncrement());
    return SchedulableInstance.of(task.instance(id, payload), due);
  }

  @Override
  public void close() {
    stop();
  }
}
