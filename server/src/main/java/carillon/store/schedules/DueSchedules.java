package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.schedule.SkipReason;
import carillon.model.schedule.UnsettledFire;
import carillon.model.task.TaskState;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * The schedules of all tenants that are due for planning. The planner's decisions are written in
 * the transaction that locked the schedules.
 */
public final class DueSchedules {

  /**
   * Unsettled fires read per schedule, oldest first, and as many again of its backfills; the others
   * are read in later passes.
   */
  private static final int MAX_UNSETTLED = 200;

  /** The unsettled fires of this many schedules are read in one query. */
  private static final int READ_BATCH = 100;

  /** No further schedules are read after about this many unsettled fires. */
  private static final int MAX_UNSETTLED_TOTAL = 20_000;

  private final Db db;
  private final Tasks tasks;

  public DueSchedules(Db db, Tasks tasks) {
    this.db = db;
    this.tasks = tasks;
  }

  /** A due schedule whose row is locked, and its unsettled fires. */
  public record Locked(StoredSchedule schedule, List<UnsettledFire> unsettled) {
    public Locked {
      unsettled = List.copyOf(unsettled);
    }

    /** Whether there may be more unsettled fires than were read. */
    public boolean mayHaveMore() {
      return backfilled() >= MAX_UNSETTLED || mayHaveMoreOfItsOwn();
    }

    /** Whether there may be more unsettled fires than were read, apart from backfilled ones. */
    public boolean mayHaveMoreOfItsOwn() {
      return unsettled.size() - backfilled() >= MAX_UNSETTLED;
    }

    private long backfilled() {
      return unsettled.stream().filter(UnsettledFire::isBackfilled).count();
    }
  }

  /**
   * The decisions about a schedule. If the settlement requires a pause, the schedule is paused, and
   * planned again as a paused one later.
   */
  public record Planned(Locked locked, FireSettlement settlement, FirePlan plan) {}

  /**
   * The numbers of one planning step.
   *
   * @param due schedules that were due
   * @param planned schedules that were planned; the others stay due
   * @param created tasks
   * @param skipped nominal times by reason
   */
  public record Step(int due, int planned, int created, Map<SkipReason, Integer> skipped) {

    private static final Step IDLE = new Step(0, 0, 0, Map.of());

    public Step {
      skipped = Map.copyOf(skipped);
    }
  }

  private static final String EARLIEST =
      """
      /* DueSchedules.earliest */
      SELECT plan_at
      FROM carillon.schedule
      WHERE plan_at IS NOT NULL
      ORDER BY plan_at
      LIMIT 1
      """;

  /** When the first schedule is due for planning; in the past if one is late. */
  public Optional<Instant> earliest() {
    return db.autoCommit(tx -> tx.queryOne(EARLIEST, row -> Sql.requiredInstant(row, "plan_at")));
  }

  /**
   * Locks the first due schedules, passes them to {@code decide} and writes its decisions, in one
   * transaction. Harmless on several nodes at once, because of the locks.
   *
   * @param decide may leave out schedules, which stay due
   */
  public Step planUnderLock(Instant now, int limit, Function<List<Locked>, List<Planned>> decide) {
    return db.inTransaction(tx -> plan(tx, now, limit, decide));
  }

  /** Plans one schedule like {@link #planUnderLock}, if it is still due. */
  public Step planOne(Instant now, Due one, Function<List<Locked>, List<Planned>> decide) {
    return db.inTransaction(tx -> plan(tx, now, List.of(one), decide));
  }

  /**
   * A due schedule, not locked.
   *
   * @param payload its size in bytes
   */
  public record Due(long id, TenantId tenant, String name, int payload) {}

  // octet_length does not read the payload itself.
  private static final String DUE =
      """
      /* DueSchedules.due */
      SELECT id, tenant, name, coalesce(octet_length(payload), 0) AS payload
      FROM carillon.schedule
      WHERE plan_at <= ?
      ORDER BY plan_at
      LIMIT ?
      """;

  /** The due schedules, longest waiting first. */
  public List<Due> due(Instant now, int limit) {
    return db.inTransaction(tx -> due(tx, now, limit));
  }

  private static List<Due> due(Tx tx, Instant now, int limit) {
    return tx.query(
        DUE,
        row ->
            new Due(
                row.getLong("id"),
                new TenantId(row.getInt("tenant")),
                row.getString("name"),
                row.getInt("payload")),
        now,
        limit);
  }

  // Not in one statement with DUE: after waiting for a lock, the row must be read as it is then.
  private static final String LOCK =
      """
      /* DueSchedules.lock */
      SELECT %s
      FROM carillon.schedule
      WHERE id = ANY (?)
        AND plan_at <= ?
      ORDER BY id
      FOR UPDATE
      """
          .formatted(ScheduleRows.COLUMNS);

  /** {@link #planUnderLock} in a transaction of the caller. */
  Step plan(Tx tx, Instant now, int limit, Function<List<Locked>, List<Planned>> decide) {
    List<Due> due = withinPayload(due(tx, now, limit));
    return due.isEmpty() ? Step.IDLE : plan(tx, now, due, decide);
  }

  /** The first schedules, as many as fit into memory. */
  private static List<Due> withinPayload(List<Due> due) {
    long payload = 0;
    for (int i = 0; i < due.size(); i++) {
      payload += due.get(i).payload();
      if (i > 0 && payload > Tasks.MAX_PAYLOAD) {
        return due.subList(0, i);
      }
    }
    return due;
  }

  private Step plan(
      Tx tx, Instant now, List<Due> due, Function<List<Locked>, List<Planned>> decide) {
    List<StoredSchedule> locked =
        tx.query(LOCK, ScheduleRows::read, Column.longs(due, Due::id), now);
    List<Planned> planned = decide.apply(withUnsettled(tx, locked));
    FirePlanWriter written = FirePlanWriter.write(tx, tasks, now, planned);
    return new Step(due.size(), planned.size(), written.created(), written.skipped());
  }

  /** The first schedules, until the maximum of unsettled fires is reached. */
  private static List<Locked> withUnsettled(Tx tx, List<StoredSchedule> locked) {
    List<Locked> all = new ArrayList<>(locked.size());
    int fires = 0;
    for (int from = 0; from < locked.size() && fires < MAX_UNSETTLED_TOTAL; from += READ_BATCH) {
      List<StoredSchedule> batch = locked.subList(from, Math.min(locked.size(), from + READ_BATCH));
      Map<Long, List<UnsettledFire>> unsettled = unsettled(tx, batch);
      for (StoredSchedule each : batch) {
        Locked one = new Locked(each, unsettled.getOrDefault(each.id(), List.of()));
        fires += one.unsettled().size();
        all.add(one);
      }
    }
    return all;
  }

  // Reads the parent table of tasks, because the partition of a very old fire may have been
  // dropped. A running task is PENDING there: only its end matters.
  // Two parts with an index each: the fires of a large backfill must not hide the schedule's own.
  private static final String UNSETTLED =
      """
      /* DueSchedules.unsettled */
      SELECT f.schedule, f.at, f.local, f.kind = 'BACKFILL' AS backfilled, f.recorded_at, f.task, t.state
      FROM unnest(?::bigint[], ?::int[]) AS s (id, tenant)
      CROSS JOIN LATERAL (
          (SELECT schedule, at, local, kind, recorded_at, task, partition
           FROM carillon.schedule_fire
           WHERE schedule = s.id
             AND task IS NOT NULL
             AND outcome IS NULL
             AND kind <> 'BACKFILL'
           ORDER BY at
           LIMIT ?)
          UNION ALL
          (SELECT schedule, at, local, kind, recorded_at, task, partition
           FROM carillon.schedule_fire
           WHERE schedule = s.id
             AND task IS NOT NULL
             AND outcome IS NULL
             AND kind = 'BACKFILL'
           ORDER BY at
           LIMIT ?)
      ) f
      LEFT JOIN LATERAL (
          SELECT state
          FROM carillon.task
          WHERE tenant = s.tenant
            AND id = f.task
            AND partition = f.partition
          LIMIT 1 -- or a plan may join by tenant alone while a new partition seems to be empty
      ) t ON true
      ORDER BY f.schedule, f.at, f.local
      """;

  private static Map<Long, List<UnsettledFire>> unsettled(Tx tx, List<StoredSchedule> schedules) {
    Map<Long, List<UnsettledFire>> unsettled = new HashMap<>();
    tx.query(
        UNSETTLED,
        row -> {
          String state = row.getString("state");
          return unsettled
              .computeIfAbsent(row.getLong("schedule"), _ -> new ArrayList<>())
              .add(
                  new UnsettledFire(
                      Sql.requiredInstant(row, "at"),
                      row.getObject("local", LocalDateTime.class),
                      row.getBoolean("backfilled"),
                      Sql.requiredInstant(row, "recorded_at"),
                      new TaskId(Sql.uuid(row, "task")),
                      state == null ? null : TaskState.valueOf(state)));
        },
        Column.longs(schedules, StoredSchedule::id),
        Column.ints(schedules, schedule -> schedule.tenant().value()),
        MAX_UNSETTLED,
        MAX_UNSETTLED);
    return unsettled;
  }

  private static final String POSTPONE =
      """
      /* DueSchedules.postpone */
      UPDATE carillon.schedule
      SET plan_at = ?
      WHERE id = ?
        AND plan_at <= ?
      """;

  /** Delays a due schedule that cannot be planned. */
  public void postpone(Due one, Instant now, Instant until) {
    db.inTransaction(tx -> tx.update(POSTPONE, until, one.id(), now));
  }
}
