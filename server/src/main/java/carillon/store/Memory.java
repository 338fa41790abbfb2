package carillon.store;

import carillon.model.Signals;
import carillon.model.cron.Timetable;
import carillon.model.task.AlertRule;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.queue.Agenda;
import carillon.store.queue.QueueSweep;
import carillon.store.schedules.StoredSchedule;
import carillon.store.tasks.Counters;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What a process remembers of the database and counts, shared by all {@link Store}s in it. */
public record Memory(
    Settings settings,
    Signals signals,
    DbClock clock,
    Catalog catalog,
    Partitions partitions,
    Agenda agenda,
    QueueSweep sweep,
    Counters counters) {

  /**
   * The settings of the installation that the store applies.
   *
   * @param alertRule for tenants without a setting of their own; null if such tenants get no alerts
   * @param retention how long ended tasks are kept
   * @param timetables the nominal times of a schedule, for backfills
   */
  public record Settings(
      @Nullable AlertRule alertRule,
      Duration retention,
      Function<StoredSchedule, Timetable> timetables) {

    public Settings(@Nullable AlertRule alertRule, Duration retention) {
      this(alertRule, retention, StoredSchedule::timetable);
    }
  }

  /**
   * Reads the catalog.
   *
   * @param catalogDb used by nothing else: transactions that hold a connection of another pool look
   *     up lanes and partitions here
   * @param sweepDb reads the queue
   */
  public static Memory load(
      Db catalogDb, Db sweepDb, DbClock clock, Settings settings, Signals signals) {
    Catalog catalog = new Catalog(catalogDb, signals.workDue());
    Partitions partitions = new Partitions(catalogDb);
    Agenda agenda = new Agenda(signals.workDue());
    signals.databaseReplaced().add(catalog::forget);
    signals.databaseReplaced().add(partitions::forget);
    catalog.refresh();
    return new Memory(
        settings,
        signals,
        clock,
        catalog,
        partitions,
        agenda,
        new QueueSweep(sweepDb, catalog, partitions, agenda),
        new Counters());
  }
}
