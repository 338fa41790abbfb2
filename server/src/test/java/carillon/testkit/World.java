package carillon.testkit;

import carillon.model.Partition;
import carillon.model.Signals;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.TaskState;
import carillon.store.Memory;
import carillon.store.Store;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.queue.Agenda;
import carillon.store.queue.WorkQueue;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.Counters;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import carillon.store.tasks.Tasks.CreateResult;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** The store of one process on its own database, with shortcuts for tests. */
public final class World implements AutoCloseable {

  public static final TenantId TENANT = TenantId.DEFAULT;

  public final Db.Address address;
  public final Db db;
  private final Db catalogDb; // separate, as in Wiring
  public final Signals signals = Signals.create();
  public final Memory memory;
  public final Store store;

  // Parts of the store and memory that most tests use:
  public final Catalog catalog;
  public final Partitions partitions;
  public final Agenda agenda;
  public final DbClock clock = new DbClock(InstantSource.system());
  public final Counters counters;
  public final Tasks tasks;

  private final Connection sqlConnection;
  private volatile boolean mayMisplaceTasks;

  private World(Db.Address address, @Nullable AlertRule defaultAlert) {
    this.address = address;
    this.sqlConnection = Postgres.connect(address);
    this.db = Db.open(address, "test", 24);
    this.catalogDb = Db.open(address, "catalog", 2);
    var settings = new Memory.Settings(defaultAlert, Duration.ofDays(30));
    this.memory = Memory.load(catalogDb, db, clock, settings, signals);
    clock.measure(db);
    this.store = Store.on(db, memory);
    signals.workDue().add(store.pullQueue()::wake);
    this.catalog = memory.catalog();
    this.partitions = memory.partitions();
    this.agenda = memory.agenda();
    this.counters = memory.counters();
    this.tasks = store.tasks();
  }

  /** A second store of this process, on another handle or with other settings. */
  public Store storeOn(Db handle, Memory.Settings settings) {
    Memory memory =
        new Memory(
            settings, signals, clock, catalog, partitions, agenda, this.memory.sweep(), counters);
    Store store = Store.on(handle, memory);
    signals.workDue().add(store.pullQueue()::wake);
    return store;
  }

  /** A world on a new database. */
  public static World create() {
    return new World(Postgres.freshDatabase(), null);
  }

  /** A world on a new database, with an alert rule for the whole installation. */
  public static World withAlerts(AlertRule defaultAlert) {
    return new World(Postgres.freshDatabase(), defaultAlert);
  }

  /** A world on an existing database. */
  public static World on(Db.Address address) {
    return new World(address, null);
  }

  /** The store of another process on the same database. */
  public World anotherProcess() {
    return new World(address, null);
  }

  /**
   * Checks that no task is lost or could be started twice, unless the test has said that it breaks
   * this on purpose.
   */
  @Override
  public void close() {
    try {
      if (!mayMisplaceTasks) {
        QueueCheck.assertConsistent(address);
      }
    } finally {
      closeConnections();
    }
  }

  private void closeConnections() {
    db.close();
    catalogDb.close();
    try {
      sqlConnection.close();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A minimal task, due now. */
  public static NewTask task(String type, @Nullable Target target) {
    return task(type, target, null);
  }

  public static NewTask task(String type, @Nullable Target target, @Nullable Instant dueAt) {
    return TestTask.of(type).dueAt(dueAt).payload("{}").target(target).build();
  }

  /** Creates a discard task that is due now. */
  public TaskId discard() {
    return create(task("t", new Target.Discard()));
  }

  public TaskId create(NewTask task) {
    return ((CreateResult.Created) tasks.create(TENANT, task)).task().id();
  }

  public TaskView find(TaskId id) {
    return tasks.find(TENANT, id).orElseThrow();
  }

  public TaskState state(TaskId id) {
    return find(id).state();
  }

  /** Creates a node with a lease of one minute. */
  public String node(String id) {
    store.nodes().join(id, id, List.of("engine"), "test", Duration.ofMinutes(1));
    return id;
  }

  /** Claims due tasks from all lanes, for an existing node. */
  public List<ClaimedTask> claim(String node, int max) {
    catalog.refresh();
    return claimKnown(node, max);
  }

  /** Claims due tasks from the lanes that this process already knows. */
  public List<ClaimedTask> claimKnown(String node, int max) {
    List<ClaimedTask> claimed = new ArrayList<>();
    for (Partition partition : partitions.open(clock.instant())) {
      for (Lane lane : catalog.lanes()) {
        if (claimed.size() < max) {
          claimed.addAll(claim(partition, lane, node, max - claimed.size()));
        }
      }
    }
    return claimed;
  }

  /**
   * Claims due tasks from one lane. Claims a second time if some were left behind, as claimers do:
   * the first claim may only notice that a lane has tasks with a concurrency key, suspects or large
   * payloads.
   */
  public List<ClaimedTask> claim(Partition partition, Lane lane, String node, int max) {
    WorkQueue.Claim first = claimOnce(partition, lane, node, max);
    boolean isAllClaimed = !Instant.EPOCH.equals(first.next().get(lane.id()));
    if (isAllClaimed || first.tasks().size() == max) {
      return first.tasks();
    }
    List<ClaimedTask> claimed = new ArrayList<>(first.tasks());
    claimed.addAll(claimOnce(partition, lane, node, max - claimed.size()).tasks());
    return claimed;
  }

  private WorkQueue.Claim claimOnce(Partition partition, Lane lane, String node, int max) {
    return store
        .queue()
        .claimDue(
            partition,
            List.of(new WorkQueue.Quota(lane, max, Instant.EPOCH)),
            WorkQueue.Claimant.node(UUID.randomUUID(), node, Integer.MAX_VALUE));
  }

  /** Claims one task; waits up to 5 s because ready times are spread. */
  public ClaimedTask claimOne(String node) {
    for (Instant end = Instant.now().plusSeconds(5);
        Instant.now().isBefore(end);
        Thread.onSpinWait()) {
      List<ClaimedTask> claimed = claim(node, 1);
      if (!claimed.isEmpty()) {
        return claimed.getFirst();
      }
    }
    throw new AssertionError("nothing to claim");
  }

  /** Waits until a task is due by the database's clock: this process only estimates it. */
  public void awaitDue(TaskId id) {
    String isDue =
        "SELECT ready_at <= clock_timestamp() FROM carillon.task WHERE id = '" + id + "'";
    Awaitility.await().until(() -> value(isDue).equals("t"));
  }

  /** Adds the earliest due time of every lane to the agenda. */
  public void sweep() {
    memory.sweep().sweep(clock.instant());
  }

  public ChangeResult cancel(TaskId id) {
    return db.inTransaction(tx -> tasks.cancel(tx, TENANT, id, "test", null));
  }

  /** The test leaves tasks that are in neither or both of queue and claims. */
  public void mayMisplaceTasks() {
    mayMisplaceTasks = true;
  }

  /**
   * Writes the queue again from the tasks that wait, after a test has inserted, changed or deleted
   * tasks with {@link #sql}. Tasks that a claim holds keep running.
   */
  public void requeue() {
    sql(
        """
        DO $$ BEGIN
            LOCK TABLE carillon.queue IN EXCLUSIVE MODE; -- nothing is created or claimed meanwhile
            DELETE FROM carillon.queue;
            INSERT INTO carillon.queue (
                ready_at, expires_at, id, lane, partition, attempt, fence, payload_bytes, crashes, concurrency_key)
            SELECT t.ready_at, CASE WHEN t.attempt = 0 THEN t.expires_at END, t.id, t.lane, t.partition, t.attempt,
                   t.fence, coalesce(octet_length(t.payload), 0), t.crashes, t.concurrency_key
            FROM carillon.task t
            WHERE t.state = 'PENDING'
              AND NOT EXISTS (
                  SELECT
                  FROM carillon.claim c
                  CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
                  WHERE c.partition = t.partition
                    AND h.tenant = t.tenant
                    AND h.id = t.id
                    AND h.fence = t.fence + 1);
        END $$
        """);
  }

  private static final Pattern CHANGES_TASKS =
      Pattern.compile("(INSERT INTO|UPDATE|DELETE FROM)\\s+carillon\\.task\\b");

  /**
   * Runs a statement on a separate connection. If it changes tasks, the queue is written again: see
   * {@link #requeue}.
   */
  public synchronized int sql(String statement) {
    boolean requeues =
        CHANGES_TASKS.matcher(statement).find() && !statement.contains("carillon.queue");
    if (requeues && !mayMisplaceTasks) {
      QueueCheck.assertConsistent(address); // or it would hide what the product did wrong
    }
    try (Statement s = sqlConnection.createStatement()) {
      int changed = s.execute(statement) ? 0 : s.getUpdateCount();
      if (requeues) {
        requeue();
      }
      return changed;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs a statement as the superuser, for example to create roles. */
  public void sqlAsSuperuser(String statement) {
    try (Connection superuser = Postgres.connect(Postgres.asSuperuser(address));
        Statement s = superuser.createStatement()) {
      s.execute(statement);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Makes {@code pg_stat_statements} available to the product's role. */
  public void countStatements() {
    sqlAsSuperuser(
        "CREATE EXTENSION IF NOT EXISTS pg_stat_statements;"
            + " GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO "
            + address.user());
  }

  /** The first value of the first row. */
  public synchronized String value(String query) {
    try (Statement s = sqlConnection.createStatement();
        ResultSet row = s.executeQuery(query)) {
      row.next();
      return String.valueOf(row.getString(1));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
