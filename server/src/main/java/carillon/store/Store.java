package carillon.store;

import carillon.store.catalog.ApiKeys;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.catalog.Tenants;
import carillon.store.catalog.Types;
import carillon.store.cluster.ClusterReader;
import carillon.store.cluster.Nodes;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.deadletters.Restores;
import carillon.store.queue.Agenda;
import carillon.store.queue.Alerts;
import carillon.store.queue.Expiry;
import carillon.store.queue.HeldClaims;
import carillon.store.queue.Outcomes;
import carillon.store.queue.PullQueue;
import carillon.store.queue.QueueSweep;
import carillon.store.queue.WorkQueue;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.FireRetention;
import carillon.store.schedules.Schedules;
import carillon.store.stats.Activity;
import carillon.store.stats.ActivityReader;
import carillon.store.stats.Backlog;
import carillon.store.stats.Events;
import carillon.store.stats.StatsReader;
import carillon.store.stats.StorageReader;
import carillon.store.stats.WaitingCounts;
import carillon.store.tasks.Tasks;
import carillon.store.tasks.UniqueTasks;

/**
 * Everything that can be read and written through one database handle. The rest of the program sees
 * it as an {@link ApiStore}, an {@link EngineStore} or a {@link LeaderStore}.
 */
public record Store(
    Db db,
    Catalog catalog,
    DbClock clock,
    Agenda agenda,
    QueueSweep sweep,
    Partitions partitions,
    Tasks tasks,
    UniqueTasks uniqueTasks,
    WorkQueue queue,
    Outcomes outcomes,
    HeldClaims claims,
    PullQueue pullQueue,
    Expiry expiry,
    DeadLetters deadLetters,
    DeadLetterArchive archive,
    Redrives redrives,
    Restores restores,
    Schedules schedules,
    DueSchedules dueSchedules,
    FireRetention fireRetention,
    Backfills backfills,
    BackfillSteps backfillSteps,
    Types types,
    Tenants tenants,
    ApiKeys keys,
    Replies replies,
    Audit audit,
    Nodes nodes,
    ClusterReader cluster,
    Activity activity,
    ActivityReader activityReader,
    WaitingCounts waiting,
    Backlog backlog,
    StatsReader stats,
    StorageReader storage,
    Events events)
    implements ApiStore, EngineStore, LeaderStore {

  public static Store on(Db db, Memory memory) {
    Catalog catalog = memory.catalog();
    DbClock clock = memory.clock();
    Agenda agenda = memory.agenda();
    // Tasks and Restores create partitions through the memory's own connections, because they hold
    // one of this handle meanwhile. The leader creates and drops them through its handle, which
    // proves the term.
    Partitions partitions = memory.partitions().through(db);
    Tasks tasks = new Tasks(db, catalog, memory.partitions(), clock, agenda, memory.counters());
    Alerts alerts = new Alerts(catalog, tasks, memory.settings().alertRule(), memory.counters());
    Outcomes outcomes = new Outcomes(db, catalog, agenda, tasks, alerts, memory.counters());
    HeldClaims claims = new HeldClaims(db, catalog, outcomes);
    WorkQueue queue = new WorkQueue(db, catalog);
    return new Store(
        db,
        catalog,
        clock,
        agenda,
        memory.sweep(),
        partitions,
        tasks,
        new UniqueTasks(db),
        queue,
        outcomes,
        claims,
        new PullQueue(catalog, queue, memory.sweep(), outcomes, claims, agenda, clock),
        new Expiry(db, partitions),
        new DeadLetters(db, catalog),
        new DeadLetterArchive(db, catalog),
        new Redrives(db, agenda),
        new Restores(catalog, memory.partitions()),
        new Schedules(db, catalog, tasks, clock, memory.signals().scheduleSaved()),
        new DueSchedules(db, tasks),
        new FireRetention(db),
        new Backfills(db, memory.settings().timetables(), memory.settings().retention()),
        new BackfillSteps(db, tasks, memory.settings().timetables()),
        new Types(db, catalog),
        new Tenants(db, catalog),
        new ApiKeys(db, catalog, clock),
        new Replies(db),
        new Audit(db),
        new Nodes(db),
        new ClusterReader(db),
        new Activity(db),
        new ActivityReader(db),
        new WaitingCounts(db),
        new Backlog(db, catalog, memory.partitions()),
        new StatsReader(db, catalog, memory.partitions(), clock),
        new StorageReader(db),
        new Events(db));
  }
}
