package carillon.bench.peers;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.jobrunr.jobs.lambdas.JobRequest;
import org.jobrunr.jobs.lambdas.JobRequestHandler;
import org.jobrunr.jobs.mappers.JobMapper;
import org.jobrunr.scheduling.JobBuilder;
import org.jobrunr.scheduling.JobRequestScheduler;
import org.jobrunr.server.BackgroundJobServer;
import org.jobrunr.server.BackgroundJobServerConfiguration;
import org.jobrunr.server.JobActivator;
import org.jobrunr.storage.StorageProvider;
import org.jobrunr.storage.sql.postgres.PostgresStorageProvider;
import org.jobrunr.utils.mapper.JsonMapper;
import org.jobrunr.utils.mapper.jackson3.Jackson3JsonMapper;
import org.jspecify.annotations.Nullable;

/** JobRunr, its open source edition. */
final class JobRunrLibrary implements Library {

  private static final int WORKERS = 200;
  private static final int BATCH = 2_000;
  private static final int BATCH_THREADS = 2;

  /** The minimum it accepts. */
  private static final Duration POLL = Duration.ofSeconds(5);

  private final DataSource database;
  private final String payload;
  private final JsonMapper json = new Jackson3JsonMapper();
  private final StorageProvider storage;
  private final JobRequestScheduler scheduler;
  private final JobActivator activator;
  private @Nullable BackgroundJobServer server;

  /**
   * A job.
   *
   * @param dueMillis when it is due; 0 if the start delay is not measured
   */
  public record Request(long dueMillis, String payload) implements JobRequest {
    @Override
    public Class<Handler> getJobRequestHandler() {
      return Handler.class;
    }
  }

  /** Counts the runs of jobs. */
  public static final class Handler implements JobRequestHandler<Request> {

    private final Runs runs;

    Handler(Runs runs) {
      this.runs = runs;
    }

    @Override
    public void run(Request request) {
      runs.ran(Instant.ofEpochMilli(request.dueMillis()));
    }
  }

  JobRunrLibrary(DataSource database, String payload, Runs runs) {
    this.database = database;
    this.payload = payload;
    this.storage = new PostgresStorageProvider(database);
    storage.setJobMapper(new JobMapper(json));
    this.scheduler = new JobRequestScheduler(storage);
    Handler handler = new Handler(runs);
    this.activator =
        new JobActivator() {
          @Override
          public <T> T activateJob(Class<T> type) {
            return type.cast(handler);
          }
        };
  }

  @Override
  public Class<?> libraryClass() {
    return BackgroundJobServer.class;
  }

  @Override
  public String settings() {
    return "workers %d, poll %d s (its minimum), in bulk %,d on %d threads, reWriteBatchedInserts, Jackson 3"
        .formatted(WORKERS, POLL.toSeconds(), BATCH, BATCH_THREADS);
  }

  @Override
  public void load(int jobs) throws SQLException {
    UUID first = scheduler.enqueue(new Request(0, payload)).asUUID();
    copy(first, jobs - 1, "scheduledat");
  }

  @Override
  public void loadFuture(int jobs) throws SQLException {
    Instant due = Instant.now().plus(Duration.ofHours(1));
    UUID first = scheduler.schedule(due, new Request(0, payload)).asUUID();
    copy(first, jobs - 1, "scheduledat + n * (interval '30 days' / " + jobs + ")");
  }

  /** A job's id is in its JSON as well, so it is replaced there too. */
  private void copy(UUID job, int copies, String scheduled) throws SQLException {
    String copied = Sql.columns(database, "jobrunr_jobs", "id", "jobasjson", "scheduledat");
    Sql.execute(
        database,
        """
        INSERT INTO jobrunr_jobs (id, jobasjson, scheduledat, %1$s)
        SELECT new_id, replace(jobasjson, id, new_id), %2$s, %1$s
        FROM jobrunr_jobs
        CROSS JOIN (SELECT n, uuidv7()::text AS new_id FROM generate_series(1, %3$d) n) AS copies
        WHERE id = '%4$s'
        """
            .formatted(copied, scheduled, copies, job));
  }

  @Override
  public void work(boolean onTime) {
    server =
        new BackgroundJobServer(
            storage,
            json,
            activator,
            BackgroundJobServerConfiguration.usingStandardBackgroundJobServerConfiguration()
                .andPollInterval(POLL)
                .andWorkerCount(WORKERS));
    server.start();
  }

  @Override
  public void stop() {
    if (server != null) {
      server.stop();
      server = null;
    }
  }

  @Override
  public long remaining() throws SQLException {
    return Long.parseLong(
        Sql.one(
            database,
            """
            SELECT count(*)
            FROM jobrunr_jobs
            WHERE state IN ('ENQUEUED', 'PROCESSING')
               OR state = 'SCHEDULED' AND scheduledat <= now() AT TIME ZONE 'UTC'
            """));
  }

  @Override
  public void enqueue(Instant due) {
    scheduler.schedule(due, new Request(due.toEpochMilli(), payload));
  }

  @Override
  public void enqueueAll(List<Instant> due) throws Exception {
    Calls.inBatches(
        due, BATCH, BATCH_THREADS, part -> scheduler.create(part.stream().map(this::job)));
  }

  private JobBuilder job(Instant due) {
    return JobBuilder.aJob()
        .scheduleAt(due)
        .withJobRequest(new Request(due.toEpochMilli(), payload));
  }

  @Override
  public void close() {
    stop();
    storage.close();
  }
}
