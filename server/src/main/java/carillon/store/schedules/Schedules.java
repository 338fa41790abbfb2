package carillon.store.schedules;

import carillon.model.Signal;
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
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The schedules of one tenant at a time. Every change holds the lock of the schedule's row, as the
 * planner does, and withdraws the tasks planned by the old definition.
 */
public final class Schedules {

  private final Db db;
  private final Tasks tasks;
  private final ManualTriggers triggers;
  private final TaskReader reader;
  private final ScheduleTasks scheduleTasks;
  private final InstantSource clock;
  private final Signal saved;

  /**
   * @param saved raised when a commit may have given the planner something to plan
   */
  public Schedules(Db db, Catalog catalog, Tasks tasks, InstantSource clock, Signal saved) {
    this.db = db;
    this.tasks = tasks;
    this.triggers = new ManualTriggers(tasks);
    this.reader = new TaskReader(db, catalog);
    this.scheduleTasks = new ScheduleTasks(db, reader);
    this.clock = clock;
    this.saved = saved;
  }

  /**
   * The content of a PUT.
   *
   * @param paused null keeps the current state
   */
  public record Wanted(Schedule schedule, @Nullable Boolean paused) {}

  /**
   * The precondition of a change.
   *
   * @param version null for any version
   */
  public record Expected(boolean mustExist, @Nullable Integer version) {

    public static final Expected ANY = new Expected(false, null);

    private boolean isMetBy(@Nullable StoredSchedule found) {
      return found == null ? !mustExist : version == null || version == found.version();
    }
  }

  /** The result of a change. */
  public sealed interface Result {
    record Saved(ScheduleView schedule, boolean created) implements Result {}

    record Deleted() implements Result {}

    record Triggered(TaskView task) implements Result {}

    record NotFound() implements Result {}

    /**
     * The caller acted on an older version.
     *
     * @param version the current one; null if there is no such schedule
     */
    record StaleVersion(@Nullable Integer version) implements Result {}

    /** The tenant requires types to be created first, and has no such type. */
    record UnknownType(String type) implements Result {}

    /** Its end was set to a time in the past. */
    record EndIsOver() implements Result {}
  }

  private void wakePlanner(Tx tx) {
    tx.afterCommit(saved::raise);
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

  /** A schedule with the outcome of its latest fires. */
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

  /** In the order of names, after the given one. */
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

  /** The recorded fires of a schedule, newest first. */
  public Page<RecordedFire, RecordedFire.Position> fires(
      StoredSchedule schedule,
      RecordedFire.Filter filter,
      int limit,
      RecordedFire.@Nullable Position before) {
    return db.inTransaction(tx -> FireHistory.list(tx, schedule, filter, limit, before));
  }

  /** The newest fires of several schedules, by schedule id. */
  public Map<Long, List<RecordedFire>> newestFires(
      TenantId tenant, List<StoredSchedule> schedules, int count) {
    return db.inTransaction(tx -> FireHistory.newest(tx, tenant, schedules, count));
  }

  /**
   * The tasks that a schedule created, latest nominal time first; empty if there is no such
   * schedule.
   *
   * @param before where the previous page ended
   */
  public Optional<Page<TaskView, RecordedFire.Position>> tasks(
      TenantId tenant,
      TaskFilter filter,
      int limit,
      RecordedFire.@Nullable Position before,
      boolean withPayload) {
    return scheduleTasks.list(tenant, filter, limit, before, withPayload);
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

  /** Creates a schedule or replaces its whole definition; an equal definition changes nothing. */
  public Result put(Tx tx, TenantId tenant, Wanted wanted, String actor, Expected expected) {
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
      // Before the create branch: it throws if a new schedule has hidden secrets.
      Schedule withSecrets =
          schedule.keeping(before == null ? null : before.schedule().task().target());
      // Errors of the definition come first: "apply" validates with a version that never matches.
      if (!expected.isMetBy(before)) {
        return new Result.StaleVersion(before == null ? null : before.version());
      }
      if (before != null) {
        prepare(tenant, schedule, now);
        return replace(tx, before, new Wanted(withSecrets, wanted.paused()), actor, now);
      }
      TenantLimits.hold(tx, tenant, TenantLimit.SCHEDULES);
      if (ScheduleDefinitions.add(tx, tenant, wanted, actor, now)) {
        TenantLimits.refuseIfOver(tx, tenant, TenantLimit.SCHEDULES);
        prepare(tenant, schedule, now);
        boolean isPaused = wanted.paused() != null && wanted.paused();
        String detail = AuditDetail.created(AuditDetail.of(schedule, isPaused));
        Audit.record(tx, tenant, actor, "schedule.put", schedule.name(), detail);
        return saved(tx, tenant, schedule.name(), true);
      }
      // A concurrent request has just created it: replace it.
    }
  }

  /** Creates its type within the tenant's limits now, because a later fire is never rejected. */
  private void prepare(TenantId tenant, Schedule schedule, Instant now) {
    tasks.prepare(tenant, schedule.taskDue(now, schedule.overlap(), null));
  }

  private static boolean isOver(@Nullable Instant end, Instant now) {
    return end != null && !end.isAfter(now);
  }

  private Result saved(Tx tx, TenantId tenant, String name, boolean created) {
    wakePlanner(tx);
    StoredSchedule stored = find(tx, tenant, name).orElseThrow();
    return new Result.Saved(FireHistory.show(tx, stored, now()), created);
  }

  private static final String INCREMENT_VERSION =
      """
      /* Schedules.incrementVersion */
      UPDATE carillon.schedule
      SET version = version + 1,
          updated_at = ?,
          cursor = greatest(cursor, ?::timestamptz),
          plan_at = ?
      WHERE id = ?
      """;

  private Result replace(Tx tx, StoredSchedule before, Wanted wanted, String actor, Instant now) {
    Schedule schedule = wanted.schedule();
    boolean isChanged = !schedule.equals(before.schedule());
    boolean paused = wanted.paused() == null ? before.isPaused() : wanted.paused();
    if (!isChanged && paused == before.isPaused()) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    if (isChanged) {
      ScheduleDefinitions.replace(tx, before, schedule);
    }
    if (paused != before.isPaused()) {
      setPaused(tx, before, paused ? new StoredSchedule.Pause(null, actor, now) : null);
    }
    if (isChanged || paused) {
      withdraw(tx, before, now, actor, isChanged ? "changed" : "paused");
    }
    if (paused && !before.isPaused()) {
      cancelLate(tx, before, now, actor, "paused");
    }
    tx.update(INCREMENT_VERSION, now, decided(before, isChanged, now), now, before.id());
    String detail =
        AuditDetail.changed(
            AuditDetail.of(before.schedule(), before.isPaused()), AuditDetail.of(schedule, paused));
    Audit.record(tx, before.tenant(), actor, "schedule.put", schedule.name(), detail);
    return saved(tx, before.tenant(), schedule.name(), false);
  }

  /** Up to when everything is decided; null to keep the cursor. */
  private static @Nullable Instant decided(StoredSchedule before, boolean isChanged, Instant now) {
    if (isChanged) {
      return before.decidedUpTo(now);
    }
    // An ended schedule has no nominal times to catch up between its end and now.
    return hasEnded(before, now) ? now : null;
  }

  private static boolean hasEnded(StoredSchedule schedule, Instant now) {
    Instant planAt = schedule.planAt();
    boolean isAtItsEnd = isOver(schedule.schedule().endAt(), now) || schedule.hasAllRuns();
    return planAt == null || (isAtItsEnd && planAt.isAfter(now));
  }

  private static void withdraw(
      Tx tx, StoredSchedule schedule, Instant now, String actor, String what) {
    PlannedTaskWithdrawals.withdraw(
        tx, schedule.id(), schedule.tenant(), now, because(schedule, actor, what));
  }

  private static void cancelLate(
      Tx tx, StoredSchedule schedule, Instant now, String actor, String what) {
    PlannedTaskWithdrawals.cancelLate(
        tx, schedule.id(), schedule.tenant(), now, because(schedule, actor, what));
  }

  private static TaskCancels.Because because(StoredSchedule schedule, String actor, String what) {
    return new TaskCancels.Because(
        actor, "schedule " + schedule.schedule().name() + " was " + what);
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

  /** Applies a change under the schedule's lock, if the precondition holds. */
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

  /** Pauses a schedule; if it is already paused, only its reason may change. */
  public Result pause(
      Tx tx,
      TenantId tenant,
      String name,
      @Nullable String reason,
      String actor,
      Expected expected) {
    return change(tx, tenant, name, expected, before -> pause(tx, before, reason, actor));
  }

  private Result pause(Tx tx, StoredSchedule before, @Nullable String reason, String actor) {
    Instant now = now();
    StoredSchedule.Pause pause = before.pause();
    if (pause != null && (reason == null || reason.equals(pause.reason()))) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    setPaused(tx, before, new StoredSchedule.Pause(reason, actor, now));
    if (pause == null) {
      withdraw(tx, before, now, actor, "paused");
      cancelLate(tx, before, now, actor, "paused");
    }
    tx.update(INCREMENT_VERSION, now, null, now, before.id());
    String detail = reason == null ? null : Json.of(Map.of("reason", reason)).toString();
    Audit.record(tx, before.tenant(), actor, "schedule.pause", before.schedule().name(), detail);
    return saved(tx, before.tenant(), before.schedule().name(), false);
  }

  /** Resumes a schedule from now on and resets its failure count. */
  public Result resume(Tx tx, TenantId tenant, String name, String actor, Expected expected) {
    return change(tx, tenant, name, expected, before -> resume(tx, before, actor));
  }

  private Result resume(Tx tx, StoredSchedule before, String actor) {
    Instant now = now();
    if (!before.isPaused()) {
      return new Result.Saved(FireHistory.show(tx, before, now), false);
    }
    setPaused(tx, before, null);
    tx.update(INCREMENT_VERSION, now, null, now, before.id());
    Audit.record(tx, before.tenant(), actor, "schedule.resume", before.schedule().name(), null);
    return saved(tx, before.tenant(), before.schedule().name(), false);
  }

  private static final String DELETE =
      """
      /* Schedules.delete */
      DELETE FROM carillon.schedule
      WHERE id = ?
      """;

  /** Deletes a schedule and withdraws its planned tasks; due and running tasks continue. */
  public Result delete(Tx tx, TenantId tenant, String name, String actor, Expected expected) {
    return change(tx, tenant, name, expected, before -> delete(tx, before, actor));
  }

  private Result delete(Tx tx, StoredSchedule before, String actor) {
    Instant now = now();
    withdraw(tx, before, now, actor, "deleted");
    cancelLate(tx, before, now, actor, "deleted");
    tx.update(DELETE, before.id());
    String detail = AuditDetail.deleted(AuditDetail.of(before.schedule(), before.isPaused()));
    Audit.record(tx, before.tenant(), actor, "schedule.delete", before.schedule().name(), detail);
    return new Result.Deleted();
  }

  /**
   * Creates a task that is due now, regardless of the schedule's rules.
   *
   * @param payload null means the schedule's own
   */
  public Result trigger(
      Tx tx, TenantId tenant, String name, @Nullable String payload, String actor) {
    Optional<StoredSchedule> found = lock(tx, tenant, name);
    if (found.isEmpty()) {
      return new Result.NotFound();
    }
    TaskId id = triggers.fire(tx, found.get(), now(), payload);
    String detail = Json.of(Map.of("task", id.toString())).toString();
    Audit.record(tx, tenant, actor, "schedule.trigger", name, detail);
    wakePlanner(tx);
    return new Result.Triggered(reader.find(tx, tenant, id).orElseThrow());
  }
}
