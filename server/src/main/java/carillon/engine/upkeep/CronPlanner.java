package carillon.engine.upkeep;

import carillon.engine.EngineEvent;
import carillon.model.cron.Timetable;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.schedule.OverlapRule;
import carillon.store.db.StoreException;
import carillon.store.schedules.DueSchedules;
import carillon.store.schedules.StoredSchedule;
import carillon.store.tasks.Tasks;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns the nominal times of schedules into fires shortly before they are due. Safe on several
 * nodes at once: a schedule is planned under its lock, and a nominal time has one fire.
 */
final class CronPlanner {

  private static final Logger log = LoggerFactory.getLogger(CronPlanner.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** Delay before a schedule that cannot be planned is tried again. */
  private static final Duration RETRY_DELAY = Duration.ofSeconds(60);

  /** Schedules locked per step. */
  private static final int MAX_BATCH = 1_000;

  /** Nominal times decided per step, approximately. */
  private static final int MAX_FIRES = 5_000;

  /** Nominal times of one schedule decided per step, approximately. */
  private static final int MAX_FIRES_PER_SCHEDULE = 1_000;

  private static final int MAX_PLANNED_ALONE = 100;

  /** Schedules with missed fires logged by name; after an outage all of them have some. */
  private static final int MAX_LOGGED = 10;

  private static final int MAX_TIMETABLES = 20_000;

  private final DueSchedules dueSchedules;
  private final Timetables timetables;
  private final InstantSource clock;
  private final Consumer<EngineEvent> events;
  private volatile @Nullable Instant earliest;
  private int batch = MAX_BATCH;
  private int locked; // by the current step
  private List<EngineEvent.FireMissed> missed = List.of(); // in the current step

  CronPlanner(
      DueSchedules dueSchedules,
      Function<StoredSchedule, Timetable> timetable,
      InstantSource clock,
      Consumer<EngineEvent> events) {
    this.dueSchedules = dueSchedules;
    this.timetables = new Timetables(MAX_TIMETABLES, timetable);
    this.clock = clock;
    this.events = events;
  }

  /** One pass. Returns zero if there may be more. */
  Duration planOnce() {
    Instant now = clock.instant().truncatedTo(ChronoUnit.MICROS);
    Optional<Instant> first = dueSchedules.earliest();
    earliest = first.orElse(null);
    Duration wait = first.map(at -> Duration.between(now, at)).orElse(INTERVAL);
    if (wait.isPositive()) {
      return wait.compareTo(INTERVAL) < 0 ? wait : INTERVAL;
    }
    step(now);
    return Duration.ZERO;
  }

  /** How long the schedule that is due longest has waited to be planned, as of the last pass. */
  Duration lag() {
    Instant first = earliest;
    Duration lag = first == null ? Duration.ZERO : Duration.between(first, clock.instant());
    return lag.isNegative() ? Duration.ZERO : lag;
  }

  private void step(Instant now) {
    locked = batch;
    try {
      DueSchedules.Step step = dueSchedules.planUnderLock(now, batch, due -> decideAll(due, now));
      // Locking a schedule costs the same whether or not it is planned, so the next batch shrinks
      // to what was planned.
      batch =
          step.planned() < step.due()
              ? Math.max(1, step.planned())
              : Math.min(MAX_BATCH, 2 * batch);
      report(step);
    } catch (RuntimeException e) {
      if (isTooMuch(e) && locked > 1) {
        batch = locked / 2; // or the next step would fail too
        throw e;
      }
      throwIfDatabase(e);
      log.warn("cannot plan schedules together error={}", e.toString());
      planAlone(now);
    }
  }

  private static boolean isTooMuch(RuntimeException e) {
    return e instanceof StoreException failed && failed.isTooMuch();
  }

  private static void throwIfDatabase(RuntimeException e) {
    if (e instanceof StoreException failed
        && (failed.isUnavailable() || failed.isBusy() || failed.isStaleTerm())
        && !failed.isTooMuch()) {
      throw failed;
    }
  }

  /** Plans schedules one by one, so that one that fails does not block the others. */
  private void planAlone(Instant now) {
    for (DueSchedules.Due each : dueSchedules.due(now, MAX_PLANNED_ALONE)) {
      try {
        report(dueSchedules.planOne(now, each, due -> decideAll(due, now)));
      } catch (RuntimeException e) {
        throwIfDatabase(e);
        log.warn(
            "cannot plan tenant={} schedule={} error={}",
            each.tenant().value(),
            each.name(),
            e.toString());
        dueSchedules.postpone(each, now, now.plus(RETRY_DELAY));
        if (isTooMuch(e)) {
          throw e; // the database may be slow: do not add load
        }
      }
    }
  }

  private List<DueSchedules.Planned> decideAll(List<DueSchedules.Locked> due, Instant now) {
    List<DueSchedules.Planned> planned = new ArrayList<>(due.size());
    missed = new ArrayList<>();
    locked = due.size();
    int left = MAX_FIRES;
    long payload = 0;
    for (DueSchedules.Locked each : due) {
      if (left <= 0 || payload > Tasks.MAX_PAYLOAD) {
        break; // the others stay due
      }
      DueSchedules.Planned one = decide(each, now, Math.min(left, MAX_FIRES_PER_SCHEDULE));
      planned.add(one);
      left -= one.plan().decisions().size();
      payload += payload(one);
      if (one.plan().missed() > 0) {
        StoredSchedule schedule = each.schedule();
        missed.add(
            new EngineEvent.FireMissed(
                schedule.tenant(), schedule.schedule().name(), one.plan().missed()));
      }
    }
    return planned;
  }

  private static long payload(DueSchedules.Planned planned) {
    String payload = planned.locked().schedule().schedule().task().payload();
    long tasks =
        planned.plan().decisions().stream()
            .filter(FirePlan.Decision.Create.class::isInstance)
            .count();
    return payload == null ? 0 : tasks * payload.length();
  }

  private DueSchedules.Planned decide(DueSchedules.Locked due, Instant now, int limit) {
    StoredSchedule schedule = due.schedule();
    int failures = schedule.counters().failuresInARow();
    FireSettlement settlement = FireSettlement.of(due.unsettled(), failures, schedule.schedule());
    if (settlement.pauseReason() != null && !schedule.isPaused()) {
      return new DueSchedules.Planned(due, settlement, FirePlan.nothing(schedule.cursor(), now));
    }
    boolean hasSettled = !settlement.settled().isEmpty();
    if (hasSettled
        && due.mayHaveMoreOfItsOwn()
        && schedule.schedule().overlap() != OverlapRule.ALLOW) {
      // A task that was not read may be live.
      return new DueSchedules.Planned(due, settlement, FirePlan.nothing(schedule.cursor(), now));
    }
    try {
      FirePlan plan = FirePlan.of(state(schedule, settlement), now, limit);
      boolean isMoreOpen = hasSettled && due.mayHaveMore();
      return new DueSchedules.Planned(
          due, settlement, isMoreOpen ? plan.againBy(now.plus(INTERVAL)) : plan);
    } catch (RuntimeException e) { // e.g. an expression that only another version accepts
      log.warn(
          "cannot plan tenant={} schedule={} error={}",
          schedule.tenant().value(),
          schedule.schedule().name(),
          e.toString());
      return new DueSchedules.Planned(
          due, settlement, FirePlan.nothing(schedule.cursor(), now.plus(RETRY_DELAY)));
    }
  }

  private FirePlan.State state(StoredSchedule schedule, FireSettlement settlement) {
    return new FirePlan.State(
        schedule.id(),
        schedule.generation(),
        schedule.schedule(),
        timetables.of(schedule),
        schedule.cursor(),
        schedule.counters().runs(),
        schedule.isPaused(),
        settlement.live());
  }

  /** Called after the commit. */
  private void report(DueSchedules.Step step) {
    if (step.created() > 0 || !step.skipped().isEmpty()) {
      events.accept(new EngineEvent.Fired(step.created(), step.skipped()));
    }
    if (step.due() == 0) {
      return; // rolled back, and then another node planned them
    }
    missed.stream()
        .limit(MAX_LOGGED)
        .forEach(
            each ->
                log.warn(
                    "missed fires tenant={} schedule={} times={}",
                    each.tenant().value(),
                    each.schedule(),
                    each.times()));
    if (missed.size() > MAX_LOGGED) {
      log.warn("missed fires of other schedules schedules={}", missed.size() - MAX_LOGGED);
    }
    missed.forEach(events);
  }
}
