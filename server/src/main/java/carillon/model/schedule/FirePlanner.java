package carillon.model.schedule;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Decides the nominal times of one schedule one after the other; used once. */
final class FirePlanner {

  /** How soon after it was planned a fire is looked at again to see how its task ended. */
  private static final Duration SETTLE = Duration.ofSeconds(60);

  /** So many missed ones at a time: others who are due must not wait for all of them. */
  private static final int MOST_MISSED = 100;

  /** Made-up tasks are due so far apart. */
  private static final Duration APART = Duration.ofSeconds(1);

  private final FirePlan.State state;
  private final Schedule schedule;
  private final Instant now;
  private final int most;
  private final List<FirePlan.Decision> decisions = new ArrayList<>();
  private final List<FirePlan.Cancel> cancels = new ArrayList<>();
  private final List<Live> live = new ArrayList<>();
  private final List<Live> backfilled = new ArrayList<>(); // only to be settled
  private Instant cursor;
  private long runs;
  private int missed;
  private @Nullable Instant lookAt;
  private @Nullable CatchUpPlan madeUp; // not null exactly if something was missed

  private record Live(TaskId task, Instant recordedAt) {}

  FirePlanner(FirePlan.State state, Instant now, int most) {
    this.state = state;
    this.schedule = state.schedule();
    this.now = now;
    this.most = most;
    this.cursor = state.cursor();
    this.runs = state.runs();
    for (UnsettledFire fire : state.live()) {
      (fire.isBackfilled() ? backfilled : live).add(new Live(fire.task(), fire.recordedAt()));
    }
  }

  FirePlan plan() {
    while (decideNext()) {
      // Each decides one instant.
    }
    return new FirePlan(decisions, cancels, cursor, withSettling(lookAt), missed);
  }

  /** Decides what is next; false if that has time, or there is nothing. */
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
      return lookAgain(state.paused() ? at : at.minus(FirePlan.HORIZON));
    }
    if (decisions.isEmpty() && isOlderThanGrace(at) && !state.paused()) {
      madeUp = CatchUpPlan.of(schedule.catchUp(), state.timetable(), after(), lastMissed(), now);
    }
    int enough = madeUp == null ? most : Math.min(most, MOST_MISSED);
    if (decisions.size() >= enough && mayStopBefore(at)) {
      return lookAgain(now);
    }
    return decide(at, times);
  }

  /**
   * What is made up for is decided together, or it would not be spread; and so is what was missed a
   * moment ago, or it would look punctual at the next look.
   */
  private boolean mayStopBefore(Instant at) {
    return madeUp == null || !isMissed(at) || (isOlderThanGrace(at) && !madeUp.has(at));
  }

  private boolean isEnded(Instant at) {
    return (schedule.maxRuns() != null && runs >= schedule.maxRuns())
        || (schedule.endAt() != null && at.isAfter(schedule.endAt()));
  }

  /**
   * The first nominal time after the end is recorded, to say why it did not fire; after that nobody
   * looks again. So it waits until all others are settled.
   */
  private boolean end(NominalTime time) {
    if (!live.isEmpty() || !backfilled.isEmpty()) {
      return false;
    }
    if (time.at().isAfter(now)) {
      return lookAgain(time.at());
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
   * Asked when something was missed. What is hardly late goes with the others, or the newest that
   * is made up for would be followed by one more; where nothing is made up for, it is just late.
   */
  private boolean isMissed(Instant at) {
    return schedule.catchUp().rule() == CatchUp.Rule.NONE ? isOlderThanGrace(at) : !at.isAfter(now);
  }

  private boolean isOlderThanGrace(Instant at) {
    return at.isBefore(now.minus(FirePlan.GRACE));
  }

  private boolean lookAgain(Instant when) {
    lookAt = when;
    return false;
  }

  private boolean decide(Instant at, List<NominalTime> times) {
    Optional<NominalTime> firing = times.stream().filter(NominalTime::fires).findFirst();
    if (firing.isPresent() && at.isAfter(now) && mustWait()) {
      return lookAgain(at);
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

  /** Whether what becomes of it is only known when it is due. */
  private boolean mustWait() {
    return state.paused() || (schedule.overlap() != OverlapRule.ALLOW && !live.isEmpty());
  }

  private void fire(NominalTime time) {
    if (state.paused()) {
      skip(time, SkipReason.PAUSED);
    } else if (madeUp != null && isMissed(time.at())) {
      makeUp(time, madeUp);
    } else {
      overlap(time, time.at().plus(jitter(schedule.jitter(), time)));
    }
  }

  private void makeUp(NominalTime time, CatchUpPlan madeUp) {
    missed++;
    if (!madeUp.has(time.at())) {
      skip(time, SkipReason.WINDOW);
      return;
    }
    Duration range = APART.compareTo(schedule.jitter()) > 0 ? APART : schedule.jitter();
    Instant dueAt = now.plus(APART.multipliedBy(madeUp.place(time.at()))).plus(jitter(range, time));
    if (schedule.catchUp().rule() == CatchUp.Rule.ALL) {
      make(time, dueAt); // its concurrency key keeps it from running beside the others
    } else {
      overlap(time, dueAt);
    }
  }

  private void overlap(NominalTime time, Instant dueAt) {
    boolean isFree = live.isEmpty();
    switch (schedule.overlap()) {
      case ALLOW -> make(time, dueAt);
      case SKIP -> makeIf(isFree, time, dueAt);
      case QUEUE -> makeIf(live.size() <= 1, time, dueAt); // the other one is the one that runs
      case CANCEL_PREVIOUS -> {
        List<Live> previous = List.copyOf(live);
        live.clear();
        TaskId task = make(time, dueAt);
        previous.forEach(each -> cancels.add(new FirePlan.Cancel(each.task(), task)));
      }
    }
  }

  private void makeIf(boolean hasRoom, NominalTime time, Instant dueAt) {
    if (hasRoom) {
      make(time, dueAt);
    } else {
      skip(time, SkipReason.OVERLAP);
    }
  }

  private Duration jitter(Duration range, NominalTime time) {
    return FireHash.within(range, state.id(), time.at());
  }

  private TaskId make(NominalTime time, Instant dueAt) {
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
   * A schedule that fires rarely is looked at in between to see how its tasks ended, each time
   * after twice as long.
   */
  private @Nullable Instant withSettling(@Nullable Instant next) {
    return earlier(earlier(next, settleAt(live)), settleAt(backfilled));
  }

  private @Nullable Instant settleAt(List<Live> open) {
    if (open.isEmpty()) {
      return null;
    }
    Duration age = Duration.between(open.getLast().recordedAt(), now);
    return now.plus(age.compareTo(SETTLE) > 0 ? age : SETTLE);
  }

  private static @Nullable Instant earlier(@Nullable Instant one, @Nullable Instant other) {
    return one == null || (other != null && other.isBefore(one)) ? other : one;
  }
}
