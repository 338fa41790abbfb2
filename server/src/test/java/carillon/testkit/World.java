package carillon.testkit;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.Target;
import carillon.model.task.AlertRule;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.TaskState;
import carillon.store.catalog.ApiKeys;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.catalog.Tenants;
import carillon.store.catalog.Types;
import carillon.store.cluster.Nodes;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.deadletters.Restores;
import carillon.store.queue.Agenda;
import carillon.store.queue.Alerts;
import carillon.store.queue.Claims;
import carillon.store.queue.Outcomes;
import carillon.store.queue.PullQueue;
import carillon.store.queue.WorkQueue;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.FireRetention;
import carillon.store.schedules.Schedules;
import carillon.store.schedules.StoredSchedule;
import carillon.store.stats.Events;
import carillon.store.tasks.ChangeResult;
import carillon.store.tasks.CreateResult;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The store of one process on a database of its own, with the shortest way to say what a test
 * needs.
 */
public final class World implements AutoCloseable {

  public static final TenantId TENANT = TenantId.DEFAULT;

  public final Db.Address address;
  public final Db db;
  private final Db catalogDb; // apart, as in Wiring
  public final Catalog catalog;
  public final Partitions partitions;
  public final Agenda agenda = new Agenda();
  public final DbClock clock = new DbClock(InstantSource.system());
  public final Tasks tasks;
  public final DeadLetters deadLetters;
  public final Redrives redrives;
  public final Audit audit;
  public final Types types;
  public final Tenants tenants;
  public final ApiKeys keys;
  public final Replies replies;
  public final WorkQueue queue;
  public final Alerts alerts;
  public final Outcomes endings;
  public final Claims claims;
  public final PullQueue pullQueue;
  public final Nodes nodes;
  public final DeadLetterArchive archive;
  public final Restores restores;
  public final Schedules schedules;
  public final Backfills backfills;
  public final BackfillSteps backfillSteps;
  public final FireRetention oldFires;
  public final Events events;

  private final Connection beside;

  private World(Db.Address address, @Nullable AlertRule usualAlert) {
    this.address = address;
    this.beside = Postgres.connect(address);
    this.db = Db.open(address, "test", 24);
    this.catalogDb = Db.open(address, "catalog", 2);
    this.catalog = new Catalog(catalogDb);
    this.partitions = new Partitions(catalogDb);
    catalog.refresh();
    clock.measure(db);
    this.tasks = new Tasks(db, catalog, partitions, clock, agenda);
    this.deadLetters = new DeadLetters(db, catalog);
    this.redrives = new Redrives(db, agenda);
    this.audit = new Audit(db);
    this.types = new Types(db, catalog);
    this.tenants = new Tenants(db, catalog);
    this.keys = new ApiKeys(db, catalog, clock);
    this.replies = new Replies(db);
    this.queue = new WorkQueue(db, catalog, partitions, agenda);
    this.alerts = new Alerts(catalog, tasks, usualAlert);
    this.endings = new Outcomes(db, catalog, agenda, tasks, alerts);
    this.claims = new Claims(db, catalog, endings);
    this.pullQueue = new PullQueue(catalog, queue, endings, claims, agenda, clock);
    this.nodes = new Nodes(db);
    this.archive = new DeadLetterArchive(db);
    this.restores = new Restores(catalog, partitions);
    this.schedules = new Schedules(db, catalog, tasks, clock);
    this.backfills = new Backfills(db, StoredSchedule::timetable, Duration.ofDays(30));
    this.backfillSteps = new BackfillSteps(db, tasks, StoredSchedule::timetable);
    this.oldFires = new FireRetention(db);
    this.events = new Events(db);
  }

  /** On a new database. */
  public static World create() {
    return new World(Postgres.freshDatabase(), null);
  }

  /** On a new database, in an installation whose operators hear of dead letters that grow. */
  public static World alerting(AlertRule usualAlert) {
    return new World(Postgres.freshDatabase(), usualAlert);
  }

  /** On a database that exists. */
  public static World on(Db.Address address) {
    return new World(address, null);
  }

  /** Another process on the same database. */
  public World beside() {
    return new World(address, null);
  }

  @Override
  public void close() {
    db.close();
    catalogDb.close();
    try {
      beside.close();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A task as plain as can be, due now. */
  public static NewTask task(String type, @Nullable Target target) {
    return task(type, target, null);
  }

  public static NewTask task(String type, @Nullable Target target, @Nullable Instant dueAt) {
    return new NewTask(
        type, null, dueAt, null, null, "{}", target, null, null, null, null, null, Map.of());
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

  /** Makes a node with a lease of a minute. */
  public String node(String id) {
    nodes.join(id, id, List.of("engine"), "test", Duration.ofMinutes(1));
    return id;
  }

  /** Claims whatever is due in all lanes, for a node that exists. */
  public List<ClaimedTask> claim(String node, int max) {
    catalog.refresh();
    return claimKnown(node, max);
  }

  /** From the lanes that this process knows already. */
  public List<ClaimedTask> claimKnown(String node, int max) {
    List<ClaimedTask> claimed = new ArrayList<>();
    for (Partition partition : partitions.open(clock.instant())) {
      for (Lane lane : catalog.lanes()) {
        if (claimed.size() < max) {
          var quota = new WorkQueue.Quota(lane, max - claimed.size(), Instant.EPOCH, null);
          claimed.addAll(
              queue
                  .claimDue(
                      partition,
                      List.of(quota),
                      WorkQueue.Claimant.node(UUID.randomUUID(), node, Integer.MAX_VALUE))
                  .tasks());
        }
      }
    }
    return claimed;
  }

  /** Claims the one task that is due, waiting for the spread of its ready time if need be. */
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

  public ChangeResult cancel(TaskId id) {
    return db.inTransaction(tx -> tasks.cancel(tx, TENANT, id, "test", null));
  }

  /** Runs a statement beside the program. */
  public synchronized int sql(String statement) {
    try (Statement s = beside.createStatement()) {
      return s.execute(statement) ? 0 : s.getUpdateCount();
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs a statement as the superuser, for what only a test needs, such as other roles. */
  public void sqlAsSuperuser(String statement) {
    try (Connection superuser = Postgres.connect(Postgres.asSuperuser(address));
        Statement s = superuser.createStatement()) {
      s.execute(statement);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** From now on {@code pg_stat_statements} has what the product's role runs. */
  public void countStatements() {
    sqlAsSuperuser(
        "CREATE EXTENSION IF NOT EXISTS pg_stat_statements;"
            + " GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO "
            + address.user());
  }

  /** The one value of a query. */
  public synchronized String value(String query) {
    try (Statement s = beside.createStatement();
        ResultSet row = s.executeQuery(query)) {
      row.next();
      return String.valueOf(row.getString(1));
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }
}
