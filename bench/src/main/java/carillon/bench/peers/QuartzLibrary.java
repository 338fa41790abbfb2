package carillon.bench.peers;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDetail;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;
import org.quartz.Trigger;
import org.quartz.TriggerBuilder;
import org.quartz.impl.StdSchedulerFactory;
import org.quartz.utils.ConnectionProvider;
import org.quartz.utils.DBConnectionManager;

/** Quartz with its clustered JDBC store: one durable job, a trigger for each run. */
final class QuartzLibrary implements Library {

  private static final String NAME = "bench";
  private static final int THREADS = 50;
  private static final int THREADS_ON_TIME = 10;
  private static final int BATCH = 500;

  /** Long, so that a job that waited in the backlog does not count as misfired. */
  private static final Duration MISFIRE = Duration.ofHours(2);

  private final DataSource database;
  private final String payload;
  private final Runs runs;
  private final AtomicLong ids = new AtomicLong();
  private final JobDetail job =
      JobBuilder.newJob(Counted.class).withIdentity(NAME).storeDurably().build();
  private Scheduler scheduler;

  /**
   * The job of every trigger.
   *
   * @param runs where it counts its runs
   */
  public record Counted(Runs runs) implements Job {
    @Override
    public void execute(JobExecutionContext context) {
      runs.ran(context.getScheduledFireTime().toInstant());
    }
  }

  QuartzLibrary(DataSource database, String payload, Runs runs)
      throws IOException, SQLException, SchedulerException {
    this.database = database;
    this.payload = payload;
    this.runs = runs;
    try (InputStream tables =
        Scheduler.class.getResourceAsStream("/org/quartz/impl/jdbcjobstore/tables_postgres.sql")) {
      if (tables == null) {
        throw new IOException("this version of Quartz has no table definitions for PostgreSQL");
      }
      Sql.execute(database, new String(tables.readAllBytes(), StandardCharsets.UTF_8));
    }
    DBConnectionManager.getInstance().addConnectionProvider(NAME, new Connections(database));
    this.scheduler = newScheduler(false);
    scheduler.addJob(job, true);
  }

  /** Lets Quartz use the same connection pool as the other libraries. */
  private record Connections(DataSource database) implements ConnectionProvider {
    @Override
    public Connection getConnection() throws SQLException {
      return database.getConnection();
    }

    @Override
    public void initialize() {}

    @Override
    public void shutdown() {}
  }

  private Scheduler newScheduler(boolean onTime) throws SchedulerException {
    Properties settings = new Properties();
    settings.setProperty("org.quartz.scheduler.instanceName", NAME);
    settings.setProperty("org.quartz.scheduler.instanceId", "AUTO");
    settings.setProperty("org.quartz.scheduler.skipUpdateCheck", "true");
    settings.setProperty(
        "org.quartz.threadPool.threadCount", "" + (onTime ? THREADS_ON_TIME : THREADS));
    settings.setProperty(
        "org.quartz.scheduler.batchTriggerAcquisitionMaxCount", onTime ? "1" : "" + THREADS);
    settings.setProperty("org.quartz.jobStore.class", "org.quartz.impl.jdbcjobstore.JobStoreTX");
    settings.setProperty(
        "org.quartz.jobStore.driverDelegateClass",
        "org.quartz.impl.jdbcjobstore.PostgreSQLDelegate");
    settings.setProperty("org.quartz.jobStore.isClustered", "true");
    settings.setProperty("org.quartz.jobStore.acquireTriggersWithinLock", "true");
    settings.setProperty("org.quartz.jobStore.misfireThreshold", "" + MISFIRE.toMillis());
    settings.setProperty("org.quartz.jobStore.dataSource", NAME);
    Scheduler created = new StdSchedulerFactory(settings).getScheduler();
    created.setJobFactory((_, _) -> new Counted(runs));
    return created;
  }

  @Override
  public Class<?> libraryClass() {
    return Scheduler.class;
  }

  @Override
  public String settings() {
    return ("JDBC, clustered, threads %1$d and batches of %1$d (on time: threads %2$d, batches of"
            + " 1), misfireThreshold %3$d h, in bulk %4$d triggers per call")
        .formatted(THREADS, THREADS_ON_TIME, MISFIRE.toHours(), BATCH);
  }

  @Override
  public void load(int jobs) throws SQLException, SchedulerException {
    insert(jobs, Instant.now(), "next_fire_time");
  }

  @Override
  public void loadFuture(int jobs) throws SQLException, SchedulerException {
    long step = Duration.ofDays(30).toMillis() / jobs;
    insert(jobs, Instant.now().plus(Duration.ofHours(1)), "next_fire_time + n * " + step);
  }

  /** Creates one trigger through the API, and the others as copies of its rows. */
  private void insert(int jobs, Instant due, String time) throws SQLException, SchedulerException {
    Trigger first = trigger(due);
    scheduler.scheduleJob(first);
    String names = first.getKey().getName() + "-";
    String isFirst = "WHERE trigger_name = '" + first.getKey().getName() + "'";
    String copied =
        Sql.columns(database, "qrtz_triggers", "trigger_name", "next_fire_time", "start_time");
    Sql.execute(
        database,
        """
        INSERT INTO qrtz_triggers (trigger_name, next_fire_time, start_time, %1$s)
        SELECT '%2$s' || n, %3$s, %3$s, %1$s
        FROM qrtz_triggers
        CROSS JOIN generate_series(1, %4$d) n
        %5$s
        """
            .formatted(copied, names, time, jobs - 1, isFirst));
    Sql.execute(
        database,
        """
        INSERT INTO qrtz_simple_triggers (trigger_name, %1$s)
        SELECT '%2$s' || n, %1$s
        FROM qrtz_simple_triggers
        CROSS JOIN generate_series(1, %3$d) n
        %4$s
        """
            .formatted(
                Sql.columns(database, "qrtz_simple_triggers", "trigger_name"),
                names,
                jobs - 1,
                isFirst));
  }

  @Override
  public void work(boolean onTime) throws SchedulerException {
    scheduler.shutdown();
    scheduler = newScheduler(onTime);
    scheduler.start();
  }

  @Override
  public void stop() throws SchedulerException {
    scheduler.shutdown(true);
    scheduler = newScheduler(false);
  }

  /** A trigger that has fired has no next time, and is deleted when its job ends. */
  @Override
  public long remaining() throws SQLException {
    return Long.parseLong(
        Sql.one(
            database,
            "SELECT count(*) FROM qrtz_triggers WHERE next_fire_time <= "
                + System.currentTimeMillis()));
  }

  @Override
  public void enqueue(Instant due) throws SchedulerException {
    scheduler.scheduleJob(trigger(due));
  }

  @Override
  public void enqueueAll(List<Instant> due) throws Exception {
    Calls.inBatches(
        due,
        BATCH,
        1,
        part -> {
          Set<Trigger> triggers = new HashSet<>();
          part.forEach(instant -> triggers.add(trigger(instant)));
          scheduler.scheduleJob(job, triggers, true);
        });
  }

  private Trigger trigger(Instant due) {
    return TriggerBuilder.newTrigger()
        .withIdentity("t" + ids.getAndIncrement())
        .forJob(job)
        .usingJobData("payload", payload)
        .startAt(Date.from(due))
        .build();
  }

  @Override
  public void close() {
    try {
      scheduler.shutdown();
    } catch (SchedulerException e) {
      throw new IllegalStateException(e);
    }
  }
}
