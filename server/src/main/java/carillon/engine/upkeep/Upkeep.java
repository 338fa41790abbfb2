package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.engine.Loop;
import carillon.engine.ReapDecision;
import carillon.model.Pass;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Term;
import carillon.store.catalog.Partitions;
import carillon.store.catalog.Replies;
import carillon.store.cluster.Nodes;
import carillon.store.db.DbClock;
import carillon.store.db.StoreException;
import carillon.store.deadletters.DeadLetterArchive;
import carillon.store.deadletters.DeadLetters;
import carillon.store.deadletters.Redrives;
import carillon.store.queue.Claims;
import carillon.store.queue.WorkQueue;
import carillon.store.schedules.BackfillSteps;
import carillon.store.schedules.Backfills;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.FireRetention;
import carillon.store.schedules.StoredSchedule;
import carillon.store.stats.Activity;
import carillon.store.stats.Events;
import carillon.store.stats.WaitingCounts;
import carillon.store.tasks.UniqueTasks;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loops that the leader runs for all, whatever its roles: what they do needs doing once. On the
 * other nodes they wait for their turn.
 */
public final class Upkeep implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Upkeep.class);

  /** How long a node that does not lead waits before it looks again; whoever wins is woken. */
  private static final Duration FOLLOWING = Duration.ofSeconds(1);

  private final Supplier<Optional<Term>> term;
  private final Duration following;
  private final Consumer<EngineEvent> events;
  private final List<Loop> loops = new ArrayList<>();
  private final List<Loop> vital = new ArrayList<>();
  private final CronPlanner planner;
  private final Loop planning;

  /** What upkeep needs of the store, all of it such that only the leader gets through. */
  public record Store(
      WorkQueue queue,
      Claims claims,
      Nodes nodes,
      Partitions partitions,
      Replies replies,
      UniqueTasks uniqueTasks,
      DbClock clock,
      DeadLetters deadLetters,
      Redrives redrives,
      DeadLetterArchive archive,
      Backfills backfills,
      BackfillSteps backfillSteps,
      FireRetention oldFires,
      DueSchedules fires,
      Activity activity,
      WaitingCounts waiting,
      Events events) {}

  /**
   * How long things are kept.
   *
   * @param retention how long ended tasks are
   * @param deadLetterTtl how long dead letters are, before they are archived
   * @param archiveDir where they are then
   */
  public record Keeping(Duration retention, Duration deadLetterTtl, Path archiveDir) {}

  private Upkeep(
      Store store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Keeping keeping,
      int poisonCrashes,
      Duration following,
      Consumer<EngineEvent> events) {
    this.term = term;
    this.following = following;
    this.events = events;
    var reaper =
        new Reaper(
            store.claims(),
            store.nodes(),
            node,
            new ReapDecision(store.clock(), poisonCrashes),
            events);
    var janitor =
        new Janitor(
            store.partitions(),
            new Janitor.Litter(
                store.replies(),
                store.uniqueTasks(),
                store.deadLetters(),
                store.redrives(),
                store.backfills(),
                store.oldFires(),
                store.activity(),
                store.events()),
            store.clock(),
            keeping.retention());
    var archiver =
        new Archiver(
            store.archive(),
            new ArchiveFiles(keeping.archiveDir()),
            keeping.deadLetterTtl(),
            store.clock(),
            node,
            events);
    this.planner = new CronPlanner(store.fires(), StoredSchedule::timetable, store.clock(), events);
    this.planning = add("cron-planner", planner::planOnce);
    vital.add(planning);
    vital.add(add("reaper", reaper::reapOnce, reaper::isCutOff));
    vital.add(add("expirer", new Expirer(store.queue(), events)::expireOnce));
    vital.add(add("redriver", new Redriver(store.redrives())::redriveOnce));
    vital.add(add("backfiller", new Backfiller(store.backfillSteps(), events)::backfillOnce));
    add("janitor", janitor::cleanOnce); // these three take their time, and nobody waits for them
    add("archiver", archiver::archiveOnce);
    add("census", new Census(store.waiting(), store.clock(), System::nanoTime)::countOnce);
  }

  private Loop add(String name, Supplier<Duration> pass) {
    return add(name, pass, () -> false);
  }

  /**
   * @param hindrance asked in every pass, also while another node leads
   */
  private Loop add(String name, Supplier<Duration> pass, BooleanSupplier hindrance) {
    Loop loop =
        Loop.of(
            name,
            () -> hindrance.getAsBoolean() ? Pass.skipped(following) : whileLeading(pass),
            failed -> events.accept(new EngineEvent.PassFailed(failed)));
    loops.add(loop);
    return loop;
  }

  private Pass whileLeading(Supplier<Duration> pass) {
    if (term.get().isEmpty()) {
      return Pass.skipped(following);
    }
    try {
      return Pass.done(pass.get());
    } catch (StoreException e) {
      if (!e.isStaleTerm()) {
        throw e;
      }
      log.debug("left to the next leader: {}", e.getMessage()); // the metric counts it
      return Pass.skipped(following);
    }
  }

  /**
   * Starts them.
   *
   * @param term the one in which this node leads, if it does
   * @param poisonCrashes after this many crashes a task is dead
   */
  public static Upkeep start(
      Store store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Keeping keeping,
      int poisonCrashes,
      Consumer<EngineEvent> events) {
    return start(store, node, term, keeping, poisonCrashes, FOLLOWING, events);
  }

  /**
   * @param following how long a node that does not lead waits unless it is woken
   */
  static Upkeep start(
      Store store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Keeping keeping,
      int poisonCrashes,
      Duration following,
      Consumer<EngineEvent> events) {
    Upkeep upkeep = new Upkeep(store, node, term, keeping, poisonCrashes, following, events);
    upkeep.loops.forEach(Loop::start);
    return upkeep;
  }

  /** This node has begun to lead. */
  public void takeOver() {
    loops.forEach(Loop::wake);
  }

  /** A schedule has changed. */
  public void planNow() {
    planning.wake();
  }

  /**
   * Why this node should not lead: a loop that others wait for has been in one and the same pass
   * for longer than that.
   */
  public Optional<String> stuckFor(Duration patience) {
    return vital.stream()
        .filter(loop -> loop.isStuckFor(patience))
        .map(loop -> "the loop " + loop.name() + " stands still")
        .findFirst();
  }

  /** How late the planner is, if it is this node that plans. */
  public Duration plannerLag() {
    return term.get().isPresent() ? planner.lag() : Duration.ZERO;
  }

  @Override
  public void close() {
    loops.forEach(Loop::stop);
    loops.forEach(Loop::close);
  }
}
