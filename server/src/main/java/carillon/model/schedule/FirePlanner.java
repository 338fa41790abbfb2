package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Decides the nominal times of one schedule, one after the other; used once. */
final class FirePlanner {

  /** The first check of how a fire's task ended comes this long after it was planned. */
  private static final Duration MIN_SETTLE_DELAY = Duration.ofSeconds(60);

  /** Missed fires planned per pass, so that one schedule cannot delay the others. */
  private static final int MAX_MISSED_PER_PASS = 100;

  /** The due times of caught-up tasks are this far apart. */
  private static final Duration CATCH_UP_SPACING = Duration.ofSeconds(1);

  private final FirePlan.State state;
  private final Schedule schedule;
  private final Instant now;
  private final int limit;
  private final List<FirePlan.Decision> decisions = new ArrayList<>();
  private final List<FirePlan.Cancel> cancels = new ArrayList<>();
  private final List<Live> live = new ArrayList<>();
  private final List<Live> backfilled = new ArrayList<>(); // to be settled only
  private Instant cursor;
  private long runs;
  private int missed;
  private @Nullable Instant planAt;
  private @Nullable CatchUpPlan catchUp; // not null if and only if something was missed

  private record Live(TaskId task, Instant recordedAt) {}

  FirePlanner(FirePlan.State state, Instant now, int limit) {
    this.state = state;
    this.schedule = state.schedule();
    this.now = now;
    this.limit = limit;
    this.cursor = state.cursor();
    this.runs = state.runs();
    for (UnsettledFire fire : state.live()) {
      (fire.isBackfilled() ? backfilled : live).add(new Live(fire.task(), fire.recordedAt()));
    }
  }

  FirePlan plan() {
    while (decideNext()) {
      // Each call decides one instant.
    }
    return new FirePlan(decisions, cancels, cursor, withSettling(planAt), missed);
  }

  /** Decides the next instant; returns false if it is not due yet, or there is none. */
  private boolean decideNext() {
    List<NominalTime> times = state.timetable().next(after());
    if (times.isEmpty()) {
      return false;
    }
    Instant at = times.getFirst().at();
    if (isEnded(at)) {
      return end(times.getFirst());
    }
    if (at.isAfter(now.plus(FirePlan.HORIZON))) {
      return waitUntil(state.paused() ? at : at.minus(FirePlan.HORIZON));
    }
    if (decisions.isEmpty() && isOlderThanGrace(at) && !state.paused()) {
      catchUp = CatchUpPlan.of(schedule.catchUp(), state.timetable(), after(), lastMissed(), now);
    }
    int enough = catchUp == null ? limit : Math.min(limit, MAX_MISSED_PER_PASS);
    if (decisions.size() >= enough && mayStopBefore(at)) {
      return waitUntil(now);
    }
    return decideInstant(at, times);
  }

  /**
   * Caught-up times are decided in one pass, or their due times would not be spread; so are times
   * missed by less than the grace, or the next pass would take them for punctual.
   */
  private boolean mayStopBefore(Instant at) {
    return catchUp == null || !isMissed(at) || (isOlderThanGrace(at) && !catchUp.has(at));
  }

  private boolean isEnded(Instant at) {
    return (schedule.maxRuns() != null && runs >= schedule.maxRuns())
        || (schedule.endAt() != null && at.isAfter(schedule.endAt()));
  }

  /**
   * Records the first nominal time after the end as skipped. The schedule is never planned again
   * after that, so all other fires must be settled first.
   */
  private boolean end(NominalTime time) {
    if (!live.isEmpty() || !backfilled.isEmpty()) {
      return false;
    }
    if (time.at().isAfter(now)) {
      return waitUntil(time.at());
    }
    skip(time, SkipReason.ENDED);
    cursor = time.at();
    return false;
  }

  private Instant after() {
    Instant startAt = schedule.startAt();
    return startAt != null && startAt.isAfter(cursor) ? startAt.minusNanos(1) : cursor;
  }

  private Instant lastMissed() {
    Instant endAt = schedule.endAt();
    return endAt != null && endAt.isBefore(now) ? endAt : now;
  }

  /**
   * Called once something was missed. Then a time late by less than the grace counts as missed too,
   * or the newest caught-up time would be followed by one more; without catch-up, it is only late.
   */
  private boolean isMissed(Instant at) {
    return schedule.catchUp().rule() == CatchUp.Rule.NONE ? isOlderThanGrace(at) : !at.isAfter(now);
  }

  private boolean isOlderThanGrace(Instant at) {
    return at.isBefore(now.minus(FirePlan.GRACE));
  }

  private boolean waitUntil(Instant when) {
    planAt = when;
    return false;
  }

  private boolean decideInstant(Instant at, List<NominalTime> times) {
    Optional<NominalTime> firing = times.stream().filter(NominalTime::fires).findFirst();
    if (firing.isPresent() && at.isAfter(now) && mustWaitUntilDue()) {
      return waitUntil(at);
    }
    for (NominalTime time : times) {
      if (time.fires()) {
        fire(time);
      } else {
        skip(time, SkipReason.DST_GAP);
      }
    }
    cursor = at;
    return true;
  }

  private boolean mustWaitUntilDue() {
    return state.paused() || (schedule.overlap() != OverlapRule.ALLOW && !live.isEmpty());
  }

  private void fire(NominalTime time) {
    if (state.paused()) {
      skip(time, SkipReason.PAUSED);
    } else if (catchUp != null && isMissed(time.at())) {
      catchUp(time, catchUp);
    } else {
      applyOverlapRule(time, time.at().plus(jitter(schedule.jitter(), time)));
    }
  }

  private void catchUp(NominalTime time, CatchUpPlan plan) {
    missed++;
    if (!plan.has(time.at())) {
      skip(time, SkipReason.WINDOW);
      return;
    }
    Duration spacing = CATCH_UP_SPACING;
    Duration range = spacing.compareTo(schedule.jitter()) > 0 ? spacing : schedule.jitter();
    Instant dueAt = now.plus(spacing.multipliedBy(plan.index(time.at()))).plus(jitter(range, time));
    if (schedule.catchUp().rule() == CatchUp.Rule.ALL) {
      create(time, dueAt); // its concurrency key keeps it from running alongside the others
    } else {
      applyOverlapRule(time, dueAt);
    }
  }

  private void applyOverlapRule(NominalTime time, Instant dueAt) {
    switch (schedule.overlap()) {
      case ALLOW -> create(time, dueAt);
      case SKIP -> createIf(live.isEmpty(), time, dueAt);
      case QUEUE -> createIf(live.size() <= 1, time, dueAt); // one may be running
      case CANCEL_PREVIOUS -> {
        List<Live> previous = List.copyOf(live);
        live.clear();
        TaskId task = create(time, dueAt);
        previous.forEach(each -> cancels.add(new FirePlan.Cancel(each.task(), task)));
      }
    }
  }

  private void createIf(boolean isAllowed, NominalTime time, Instant dueAt) {
    if (isAllowed) {
      create(time, dueAt);
    } else {
      skip(time, SkipReason.OVERLAP);
    }
  }

  private Duration jitter(Duration range, NominalTime time) {
    return FireHash.within(range, state.id(), time.at());
  }

  private TaskId create(NominalTime time, Instant dueAt) {
    TaskId task = FireHash.taskId(state.id(), state.generation(), time.at(), dueAt);
    decisions.add(new FirePlan.Decision.Create(time, task, dueAt));
    live.add(new Live(task, now));
    runs++;
    return task;
  }

  private void skip(NominalTime time, SkipReason reason) {
    decisions.add(new FirePlan.Decision.Skip(time, reason));
  }

  /**
   * A schedule that fires rarely is also planned in between, to record how its tasks ended, each
   * time after twice as long.
   */
  private @Nullable Instant withSettling(@Nullable Instant next) {
    return earlier(earlier(next, settleAt(live)), settleAt(backfilled));
  }

  private @Nullable Instant settleAt(List<Live> open) {
    if (open.isEmpty()) {
      return null;
    }
    Duration age = Duration.between(open.getLast().recordedAt(), now);
    return now.plus(age.compareTo(MIN_SETTLE_DELAY) > 0 ? age : MIN_SETTLE_DELAY);
  }

  private static @Nullable Instant earlier(@Nullable Instant one, @Nullable Instant other) {
    return one == null || (other != null && other.isBefore(one)) ? other : one;
  }
}
