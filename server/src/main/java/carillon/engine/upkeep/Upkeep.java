package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.engine.Loop;
import carillon.engine.ReapDecision;
import carillon.model.Pass;
import carillon.model.cluster.NodeLease;
import carillon.model.cluster.Term;
import carillon.store.LeaderStore;
import carillon.store.db.StoreException;
import carillon.store.deadletters.ArchivedTask;
import carillon.store.schedules.StoredSchedule;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The loops that only the leader runs, for the whole cluster and whatever its roles. On other nodes
 * they wait until the node leads.
 */
public final class Upkeep implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Upkeep.class);

  /** How often a follower checks whether it leads; a new leader is also woken. */
  private static final Duration FOLLOWER_INTERVAL = Duration.ofSeconds(1);

  private final Supplier<Optional<Term>> term;
  private final Duration followerInterval;
  private final Consumer<EngineEvent> events;
  private final List<Loop> loops = new ArrayList<>();
  private final List<Loop> vital = new ArrayList<>();
  private final CronPlanner planner;
  private final Loop planning;

  /**
   * How long data is kept, and how dead letters are archived.
   *
   * @param retention of finished tasks
   * @param deadLetterTtl how long dead letters stay before they are archived
   * @param archiveLine writes a task as one line
   */
  public record Settings(
      Duration retention,
      Duration deadLetterTtl,
      Path archiveDir,
      Function<ArchivedTask, String> archiveLine) {}

  private Upkeep(
      LeaderStore store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Settings settings,
      int poisonCrashes,
      Duration followerInterval,
      Consumer<EngineEvent> events) {
    this.term = term;
    this.followerInterval = followerInterval;
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
            new Janitor.Aging(
                store.replies(),
                store.uniqueTasks(),
                store.deadLetters(),
                store.redrives(),
                store.backfills(),
                store.fireRetention(),
                store.activity(),
                store.events()),
            store.clock(),
            settings.retention());
    var archiver =
        new Archiver(
            store.archive(),
            new ArchiveFiles(settings.archiveDir(), settings.archiveLine()),
            settings.deadLetterTtl(),
            store.clock(),
            node,
            events);
    this.planner =
        new CronPlanner(store.dueSchedules(), StoredSchedule::timetable, store.clock(), events);
    this.planning = add("cron-planner", planner::planOnce);
    vital.add(planning);
    vital.add(add("reaper", reaper::reapOnce, reaper::checkCutOff));
    vital.add(add("expirer", new Expirer(store.expiry(), events)::expireOnce));
    vital.add(add("redriver", new Redriver(store.redrives())::redriveOnce));
    vital.add(add("backfiller", new Backfiller(store.backfillSteps(), events)::backfillOnce));
    add("janitor", janitor::cleanOnce); // these three may be slow: nothing waits for them
    add("archiver", archiver::archiveOnce);
    add("census", new Census(store.waiting(), store.clock(), System::nanoTime)::countOnce);
  }

  private Loop add(String name, Supplier<Duration> pass) {
    return add(name, pass, () -> false);
  }

  /**
   * @param checkBlocked called in every pass, also while another node leads; true skips the pass
   */
  private Loop add(String name, Supplier<Duration> pass, BooleanSupplier checkBlocked) {
    Loop loop =
        Loop.of(
            name,
            () -> checkBlocked.getAsBoolean() ? Pass.skipped(followerInterval) : whileLeading(pass),
            failed -> events.accept(new EngineEvent.PassFailed(failed)));
    loops.add(loop);
    return loop;
  }

  private Pass whileLeading(Supplier<Duration> pass) {
    if (term.get().isEmpty()) {
      return Pass.skipped(followerInterval);
    }
    try {
      return Pass.done(pass.get());
    } catch (StoreException e) {
      if (!e.isStaleTerm()) {
        throw e;
      }
      log.debug("lost leadership during a pass error={}", e.getMessage()); // a metric counts it
      return Pass.skipped(followerInterval);
    }
  }

  /**
   * Starts the loops.
   *
   * @param term the term in which this node leads; empty while it does not
   * @param poisonCrashes a task is dead after this many crashes
   */
  public static Upkeep start(
      LeaderStore store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Settings settings,
      int poisonCrashes,
      Consumer<EngineEvent> events) {
    return start(store, node, term, settings, poisonCrashes, FOLLOWER_INTERVAL, events);
  }

  /**
   * @param followerInterval how often a follower checks whether it leads
   */
  static Upkeep start(
      LeaderStore store,
      Supplier<NodeLease> node,
      Supplier<Optional<Term>> term,
      Settings settings,
      int poisonCrashes,
      Duration followerInterval,
      Consumer<EngineEvent> events) {
    Upkeep upkeep =
        new Upkeep(store, node, term, settings, poisonCrashes, followerInterval, events);
    upkeep.loops.forEach(Loop::start);
    return upkeep;
  }

  /** Wakes the loops of a new leader. */
  public void takeOver() {
    loops.forEach(Loop::wake);
  }

  /** Called when a schedule has changed. */
  public void planNow() {
    planning.wake();
  }

  /** Why this node should not lead: a vital loop has been in the same pass for longer than this. */
  public Optional<String> stuckFor(Duration limit) {
    return vital.stream()
        .filter(loop -> loop.isStuckFor(limit))
        .map(loop -> "loop " + loop.name() + " is stuck")
        .findFirst();
  }

  /** How late the planner is; zero unless this node leads. */
  public Duration plannerLag() {
    return term.get().isPresent() ? planner.lag() : Duration.ZERO;
  }

  @Override
  public void close() {
    loops.forEach(Loop::stop);
    loops.forEach(Loop::close);
  }
}
