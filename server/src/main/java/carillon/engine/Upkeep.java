package carillon.engine;

import carillon.model.NodeLease;
import carillon.store.BackfillSteps;
import carillon.store.Backfills;
import carillon.store.Claims;
import carillon.store.DbClock;
import carillon.store.DeadLetterArchive;
import carillon.store.DeadLetters;
import carillon.store.Fires;
import carillon.store.Nodes;
import carillon.store.OldFires;
import carillon.store.Redrives;
import carillon.store.Replies;
import carillon.store.Slots;
import carillon.store.StoredSchedule;
import carillon.store.UniqueTasks;
import carillon.store.WorkQueue;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The loops that every node runs, whatever its roles: else nothing is taken back or cleared away.
 */
public final class Upkeep implements AutoCloseable {

  private final List<Loop> loops;
  private final Loop planning;
  private final CronPlanner planner;

  /** What upkeep needs of the store. */
  public record Store(
      WorkQueue queue,
      Claims claims,
      Nodes nodes,
      Slots slots,
      Replies replies,
      UniqueTasks uniqueTasks,
      DbClock clock,
      DeadLetters deadLetters,
      Redrives redrives,
      DeadLetterArchive archive,
      Backfills backfills,
      BackfillSteps backfillSteps,
      OldFires oldFires,
      Fires fires) {}

  /**
   * How long things are kept.
   *
   * @param retention how long ended tasks are
   * @param deadLetterTtl how long dead letters are, before they are archived
   * @param archiveDir where they are then
   */
  public record Keeping(Duration retention, Duration deadLetterTtl, Path archiveDir) {}

  private Upkeep(List<Loop> loops, Loop planning, CronPlanner planner) {
    this.loops = loops;
    this.planning = planning;
    this.planner = planner;
  }

  /**
   * Starts them.
   *
   * @param isKnown whether this node knows of a claim that it holds in the database
   * @param poisonCrashes a task that so many nodes died of is dead
   */
  public static Upkeep start(
      Store store,
      Supplier<NodeLease> node,
      Predicate<UUID> isKnown,
      Keeping keeping,
      int poisonCrashes,
      Consumer<EngineEvent> events) {
    var reaper =
        new Reaper(
            store.claims(), store.nodes(), store.clock(), node, isKnown, poisonCrashes, events);
    var expirer = new Expirer(store.queue(), events);
    var janitor =
        new Janitor(
            store.slots(),
            new Janitor.Litter(
                store.replies(),
                store.uniqueTasks(),
                store.deadLetters(),
                store.redrives(),
                store.backfills(),
                store.oldFires()),
            store.clock(),
            keeping.retention());
    var redriver = new Redriver(store.redrives());
    var backfiller = new Backfiller(store.backfillSteps(), events);
    var archiver =
        new Archiver(
            store.archive(),
            new ArchiveFiles(keeping.archiveDir()),
            keeping.deadLetterTtl(),
            store.clock(),
            node,
            events);
    var planner = new CronPlanner(store.fires(), StoredSchedule::timetable, store.clock(), events);
    Consumer<String> whenFailed = loop -> events.accept(new EngineEvent.PassFailed(loop));
    Loop planning = new Loop("cron-planner", planner::planOnce, whenFailed).start();
    return new Upkeep(
        List.of(
            planning,
            new Loop("reaper", reaper::reapOnce, whenFailed).start(),
            new Loop("expirer", expirer::expireOnce, whenFailed).start(),
            new Loop("janitor", janitor::cleanOnce, whenFailed).start(),
            new Loop("redriver", redriver::redriveOnce, whenFailed).start(),
            new Loop("backfiller", backfiller::backfillOnce, whenFailed).start(),
            new Loop("archiver", archiver::archiveOnce, whenFailed).start()),
        planning,
        planner);
  }

  /** A schedule has changed. */
  public void planNow() {
    planning.wake();
  }

  /** How late the planner is. */
  public Duration plannerLag() {
    return planner.lag();
  }

  @Override
  public void close() {
    loops.forEach(Loop::stop);
    loops.forEach(Loop::close);
  }
}
