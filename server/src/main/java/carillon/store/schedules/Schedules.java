package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.TenantLimit;
import carillon.model.schedule.Schedule;
import carillon.store.catalog.Audit;
import carillon.store.catalog.AuditDetail;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.TenantLimits;
import carillon.store.db.Db;
import carillon.store.db.Json;
import carillon.store.db.Page;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskCancels;
import carillon.store.tasks.TaskFilter;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskView;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The schedules of one tenant at a time. Every change holds the lock of the schedule's row, as the
 * planner does, and takes back what was planned by what no longer holds.
 */
public final class Schedules {

  private final Db db;
  private final Tasks tasks;
  private final ManualTriggers triggers;
  private final TaskReader reader;
  private final ScheduleTasks fired;
  private final InstantSource clock;
  private final List<Runnable> whenChanged = new CopyOnWriteArrayList<>();

  public Schedules(Db db, Catalog catalog, Tasks tasks, InstantSource clock) {
    this.db = db;
    this.tasks = tasks;
    this.triggers = new ManualTriggers(tasks);
    this.reader = new TaskReader(db, catalog);
    this.fired = new ScheduleTasks(db, reader);
    this.clock = clock;
  }

  /**
   * What a PUT asks for.
   *
   * @param paused null keeps what it is
   */
  public record Wanted(Schedule schedule, @Nullable Boolean paused) {}

  /**
   * Which schedule a change may find.
   *
   * @param version null if any will do
   */
  public record Expected(boolean mustExist, @Nullable Integer version) {

    public static final Expected ANY = new Expected(false, null);

    private boolean isMetBy(@Nullable StoredSchedule found) {
      return found == null ? !mustExist : version == null || version == found.version();
    }
  }

  /** What became of a change. */
  public sealed interface Result {
    record Saved(ScheduleView schedule, boolean created) implements Result {}

    record Deleted() implements Result {}

    record Triggered(TaskView task) implements Result {}

    record NotFound() implements Result {}

    /**
     * The caller acted on an older version.
     *
     * @param version the one that there is; null if there is no such schedule
     */
    record StaleVersion(@Nullable Integer version) implements Result {}

    /** The tenant is strict and has no such type. */
    record UnknownType(String type) implements Result {}

    /** Its end was set to a time that is over. */
    record EndIsOver() implements Result {}
  }

  /** Asks to be told when there may be something new to plan. */
  public void whenChanged(Runnable action) {
    whenChanged.add(action);
  }

  private void tellPlanner(Tx tx) {
    tx.afterCommit(() -> whenChanged.forEach(Runnable::run));
  }

  private Instant now() {
    return clock.instant().truncatedTo(ChronoUnit.MICROS);
  }

  private static final String FIND =
      """
      /* Schedules.find */
      SELECT %s
      FROM carillon.schedule
      WHERE tenant = ?
        AND name = ?
      """
          .formatted(ScheduleRows.COLUMNS);

  public Optional<StoredSchedule> find(TenantId tenant, String name) {
    return db.inTransaction(tx -> find(tx, tenant, name));
  }

  static Optional<StoredSchedule> find(Tx tx, TenantId tenant, String name) {
    return tx.queryOne(FIND, ScheduleRows::read, tenant, name);
  }

  /** With what became of its latest fires. */
  public Optional<ScheduleView> show(TenantId tenant, String name) {
    return db.inTransaction(
        tx -> find(tx, tenant, name).map(found -> FireHistory.show(tx, found, now())));
  }

  private static final String LIST =
      """
      /* Schedules.list */
      SELECT %s
      FROM carillon.schedule
      WHERE tenant = ?
        AND name > ?
      ORDER BY name
      LIMIT ?
      """
          .formatted(
              ScheduleRows.COLUMNS.replace(
                  "payload,", "CASE WHEN ?::boolean THEN payload END AS payload,"));

  /** By name, after the given one. */
  public Page<StoredSchedule, String> list(
      TenantId tenant, int limit, @Nullable String after, boolean withPayload) {
    List<StoredSchedule> found =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST,
                    ScheduleRows::read,
                    withPayload,
                    tenant,
                    after == null ? "" : after,
                    limit + 1));
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), found.get(limit - 1).schedule().name());
  }

  /** What became of its nominal times, newest first. */
  public Page<RecordedFire, RecordedFire.Moment> fires(
      StoredSchedule schedule,
      RecordedFire.Filter filter,
      int limit,
      RecordedFire.@Nullable Moment before) {
    return db.inTransaction(tx -> FireHistory.list(tx, schedule, filter, limit, before));
  }

  /** The newest fires of each of them, by their ids. */
  public Map<Long, List<RecordedFire>> newestFires(
      TenantId tenant, List<StoredSchedule> schedules, int count) {
    return db.inTransaction(tx -> FireHistory.newest(tx, tenant, schedules, count));
  }

  /**
   * The tasks that a schedule made, latest nominal time first; empty if there is no schedule with
   * that name. {@code before} is where the page before ended.
   */
  public Optional<Page<TaskView, RecordedFire.Moment>> tasks(
      TenantId tenant,
      TaskFilter filter,
      int limit,
      RecordedFire.@Nullable Moment before,
      boolean withPayload) {
    return fired.list(tenant, filter, limit, before, withPayload);
  }

  private static final String LOCK =
      """
      /* Schedules.lock */
      SELECT %s
      FROM carillon.schedule
      WHERE tenant = ?
        AND name = ?
      FOR UPDATE
      """
          .formatted(ScheduleRows.COLUMNS);

  private static Optional<StoredSchedule> lock(Tx tx, TenantId tenant, String name) {
    return tx.queryOne(LOCK, ScheduleRows::read, tenant, name);
  }

  /** Makes it, or replaces its definition as a whole; what would change nothing changes nothing. */
  public Result put(Tx tx, TenantId tenant, Wanted wanted, String who, Expected expected) {
    Schedule schedule = wanted.schedule();
    if (tasks.isUnknownType(tenant, schedule.task().type())) {
      return new Result.UnknownType(schedule.task().type());
    }
    while (true) {
      StoredSchedule before = lock(tx, tenant, schedule.name()).orElse(null);
      Instant now = now();
      boolean keepsEnd =
          before != null && Objects.equals(before.schedule().endAt(), schedule.endAt());
      if (isOver(schedule.endAt(), now) && !keepsEnd) {
        return new Result.EndIsOver();
      }
      Schedule kept = schedule.keeping(before == null ? null : before.schedule().task().target());
      // What could not be saved at any version is said first: "apply" asks with one that none has.
      if (!expected.isMetBy(before)) {
        return new Result.StaleVersion(before == null ? null : before.version());
      }
      if (before != null) {
        prepare(tenant, schedule, now);
        return replace(tx, before, new Wanted(kept, wanted.paused()), who, now);
      }
      TenantLimits.hold(tx, tenant, TenantLimit.SCHEDULES);
      if (ScheduleDefinitions.add(tx, tenant, wanted, who, now)) {
        TenantLimits.refuseIfOver(tx, tenant, TenantLimit.SCHEDULES);
        prepare(tenant, schedule, now);
        boolean isPaused = wanted.paused() != null && wanted.paused();
        String detail = AuditDetail.created(AuditDetail.of(schedule, isPaused));
        Audit.record(tx, tenant, who, "schedule.put", schedule.name(), detail);
        return saved(tx, tenant, schedule.name(), true);
      }
      // Somebody else has just made it: then it is there to be replaced.
    }
  }

  /** Makes its type, within the tenant's limits: what fires later is never refused. */
  private void prepare(TenantId tenant, Schedule schedule, Instant now) {
    tasks.prepare(tenant, schedule.taskDue(now, schedule.overlap(), null));
  }

  private static boolean isOver(@Nullable Instant end, Instant now) {
    return end != null && !end.isAfter(now);
  }

  private Result saved(Tx tx, TenantId tenant, String name, boolean created) {
    tellPlanner(tx);
    StoredSchedule stored = find(tx, tenant, name).orElseThrow();
    return new Result.Saved(FireHistory.show(tx, stored, now()), created);
  }

  private static final String COUNT_VERSION =
      """
      /* Schedules.countVersion */
      UPDATE carillon.schedule
      SET version = version + 1,
          updated_at = ?,
          cursor = greatest(cursor, ?::timestamptz),
          plan_at = ?
      WHERE id = ?
      """;

  private Result replace(Tx tx, StoredSchedule before, Wanted wanted, String who, Instant now) {
    Schedule schedule = wanted.schedule();
    boolean isOther = !schedule.equals(before.schedule());
    boolean paused = wanted.paused() == null ? before.isPaused() : wanted.paused();
    if (!isOther && paused == before.isPaused()) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    if (isOther) {
      ScheduleDefinitions.replace(tx, before, schedule);
    }
    if (paused != before.isPaused()) {
      setPaused(tx, before, paused ? new StoredSchedule.Pause(null, who, now) : null);
    }
    if (isOther || paused) {
      withdraw(tx, before, now, who, isOther ? "changed" : "paused");
    }
    if (paused && !before.isPaused()) {
      cancelLate(tx, before, now, who, "paused");
    }
    tx.update(COUNT_VERSION, now, decided(before, isOther, now), now, before.id());
    String detail =
        AuditDetail.changed(
            AuditDetail.of(before.schedule(), before.isPaused()), AuditDetail.of(schedule, paused));
    Audit.record(tx, before.tenant(), who, "schedule.put", schedule.name(), detail);
    return saved(tx, before.tenant(), schedule.name(), false);
  }

  /** Up to when there is nothing left to decide; null if that is as far as the cursor says. */
  private static @Nullable Instant decided(StoredSchedule before, boolean isOther, Instant now) {
    if (isOther) {
      return before.decidedUpTo(now);
    }
    // What had come to its end has no nominal times between then and now to be made up for.
    return hasEnded(before, now) ? now : null;
  }

  private static boolean hasEnded(StoredSchedule schedule, Instant now) {
    Instant planAt = schedule.planAt();
    boolean isAtItsEnd = isOver(schedule.schedule().endAt(), now) || schedule.hasAllRuns();
    return planAt == null || (isAtItsEnd && planAt.isAfter(now));
  }

  private static void withdraw(
      Tx tx, StoredSchedule schedule, Instant now, String who, String what) {
    String reason = reason(schedule, what);
    PlannedTaskWithdrawals.withdraw(tx, schedule.id(), schedule.tenant(), now, who, reason);
  }

  private static void cancelLate(
      Tx tx, StoredSchedule schedule, Instant now, String who, String what) {
    var because = new TaskCancels.Because(who, reason(schedule, what));
    PlannedTaskWithdrawals.cancelLate(tx, schedule.id(), schedule.tenant(), now, because);
  }

  private static String reason(StoredSchedule schedule, String what) {
    return "schedule " + schedule.schedule().name() + " was " + what;
  }

  private static final String SET_PAUSED =
      """
      /* Schedules.setPaused */
      UPDATE carillon.schedule
      SET paused = ?,
          paused_reason = ?::text,
          paused_by = ?::text,
          paused_at = ?::timestamptz,
          failures_in_a_row = CASE WHEN ? THEN failures_in_a_row ELSE 0 END
      WHERE id = ?
      """;

  private static void setPaused(
      Tx tx, StoredSchedule schedule, StoredSchedule.@Nullable Pause pause) {
    tx.update(
        SET_PAUSED,
        pause != null,
        pause == null ? null : pause.reason(),
        pause == null ? null : pause.by(),
        pause == null ? null : pause.at(),
        pause != null,
        schedule.id());
  }

  /** Makes a change under the schedule's lock, if it is as the caller expects. */
  private static Result change(
      Tx tx,
      TenantId tenant,
      String name,
      Expected expected,
      Function<StoredSchedule, Result> change) {
    Optional<StoredSchedule> found = lock(tx, tenant, name);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    StoredSchedule before = found.get();
    return expected.isMetBy(before)
        ? change.apply(before)
        : new Result.StaleVersion(before.version());
  }

  /** What is paused already stays as it is, unless there is another reason for it now. */
  public Result pause(
      Tx tx, TenantId tenant, String name, @Nullable String reason, String who, Expected expected) {
    return change(tx, tenant, name, expected, before -> pause(tx, before, reason, who));
  }

  private Result pause(Tx tx, StoredSchedule before, @Nullable String reason, String who) {
    Instant now = now();
    StoredSchedule.Pause pause = before.pause();
    if (pause != null && (reason == null || reason.equals(pause.reason()))) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    setPaused(tx, before, new StoredSchedule.Pause(reason, who, now));
    if (pause == null) {
      withdraw(tx, before, now, who, "paused");
      cancelLate(tx, before, now, who, "paused");
    }
    tx.update(COUNT_VERSION, now, null, now, before.id());
    String detail = reason == null ? null : Json.of(Map.of("reason", reason)).toString();
    Audit.record(tx, before.tenant(), who, "schedule.pause", before.schedule().name(), detail);
    return saved(tx, before.tenant(), before.schedule().name(), false);
  }

  /** It fires from now on; failures are counted anew. */
  public Result resume(Tx tx, TenantId tenant, String name, String who, Expected expected) {
    return change(tx, tenant, name, expected, before -> resume(tx, before, who));
  }

  private Result resume(Tx tx, StoredSchedule before, String who) {
    Instant now = now();
    if (!before.isPaused()) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    setPaused(tx, before, null);
    tx.update(COUNT_VERSION, now, null, now, before.id());
    Audit.record(tx, before.tenant(), who, "schedule.resume", before.schedule().name(), null);
    return saved(tx, before.tenant(), before.schedule().name(), false);
  }

  private static final String DELETE =
      """
      /* Schedules.delete */
      DELETE FROM carillon.schedule
      WHERE id = ?
      """;

  /** Planned fires are withdrawn; what is due or runs goes on. */
  public Result delete(Tx tx, TenantId tenant, String name, String who, Expected expected) {
    return change(tx, tenant, name, expected, before -> delete(tx, before, who));
  }

  private Result delete(Tx tx, StoredSchedule before, String who) {
    Instant now = now();
    withdraw(tx, before, now, who, "deleted");
    cancelLate(tx, before, now, who, "deleted");
    tx.update(DELETE, before.id());
    String detail = AuditDetail.deleted(AuditDetail.of(before.schedule(), before.isPaused()));
    Audit.record(tx, before.tenant(), who, "schedule.delete", before.schedule().name(), detail);
    return new Result.Deleted();
  }

  /**
   * Makes a task that is due now, whatever its rules say.
   *
   * @param payload null means the schedule's own
   */
  public Result trigger(Tx tx, TenantId tenant, String name, @Nullable String payload, String who) {
    Optional<StoredSchedule> found = lock(tx, tenant, name);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    TaskId id = triggers.fire(tx, found.get(), now(), payload);
    String detail = Json.of(Map.of("task", id.toString())).toString();
    Audit.record(tx, tenant, who, "schedule.trigger", name, detail);
    tellPlanner(tx);
    return new Result.Triggered(reader.find(tx, tenant, id).orElseThrow());
  }
}
