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
 * Schedules of all tenants that the planner has to look at, and what it decides about them, written
 * in the transaction that locked them.
 */
public final class DueSchedules {

  /**
   * Open fires of one schedule, oldest first, and as many again that backfills made; of one that
   * has more, the others come later.
   */
  private static final int MOST_OPEN = 200;

  /** Open fires of so many schedules are read at once, */
  private static final int READ_TOGETHER = 100;

  /** and no further ones after about so many. */
  private static final int MOST_OPEN_TOGETHER = 20_000;

  private final Db db;
  private final Tasks tasks;

  public DueSchedules(Db db, Tasks tasks) {
    this.db = db;
    this.tasks = tasks;
  }

  /** A schedule to look at, under its lock, and its fires whose end nobody has noted. */
  public record Locked(StoredSchedule schedule, List<UnsettledFire> open) {
    public Locked {
      open = List.copyOf(open);
    }

    /** Whether it may have more open fires than were read. */
    public boolean mayHaveMore() {
      return backfilled() >= MOST_OPEN || mayHaveMoreOfItsOwn();
    }

    /** The same but for those of backfills. */
    public boolean mayHaveMoreOfItsOwn() {
      return open.size() - backfilled() >= MOST_OPEN;
    }

    private long backfilled() {
      return open.stream().filter(UnsettledFire::isBackfilled).count();
    }
  }

  /**
   * What was decided about a schedule. If the settlement asks for a pause, it is paused, and then
   * planned again as a paused one.
   */
  public record Planned(Locked locked, FireSettlement settlement, FirePlan plan) {}

  /**
   * What one step did.
   *
   * @param looked how many schedules were found due
   * @param planned how many of them were decided; the others stay due
   * @param made tasks
   * @param skipped nominal times, by why
   */
  public record Step(int looked, int planned, int made, Map<SkipReason, Integer> skipped) {

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

  /** When the first schedule is to be looked at; the past if one is late. */
  public Optional<Instant> earliest() {
    return db.ask(tx -> tx.queryOne(EARLIEST, row -> Sql.requiredInstant(row, "plan_at")));
  }

  /**
   * Has the first schedules that are due decided, and writes what was decided, in one transaction.
   * Harmless while another node is at it: they are decided under their locks.
   *
   * @param decide may leave out some, which stay due
   */
  public Step planDue(Instant now, int limit, Function<List<Locked>, List<Planned>> decide) {
    return db.inTransaction(tx -> plan(tx, now, limit, decide));
  }

  /** As {@link #planDue}, but only this one, if it is still due. */
  public Step planOne(Instant now, Due one, Function<List<Locked>, List<Planned>> decide) {
    return db.inTransaction(tx -> plan(tx, now, List.of(one), decide));
  }

  /**
   * A schedule that is due.
   *
   * @param payload its size in bytes
   */
  public record Due(long id, TenantId tenant, String name, int payload) {}

  // A payload's size is known without reading it.
  private static final String DUE =
      """
      /* DueSchedules.due */
      SELECT id, tenant, name, coalesce(octet_length(payload), 0) AS payload
      FROM carillon.schedule
      WHERE plan_at <= ?
      ORDER BY plan_at
      LIMIT ?
      """;

  /** Those that are due, the one that waits longest first. */
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

  // Not in one statement with the above: who waits for a lock must then look at the row as it is.
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

  /** As {@link #planDue}. */
  Step plan(Tx tx, Instant now, int limit, Function<List<Locked>, List<Planned>> decide) {
    List<Due> due = withinPayload(due(tx, now, limit));
    return due.isEmpty() ? Step.IDLE : plan(tx, now, due, decide);
  }

  /** The first of them, as many as fit into memory. */
  private static List<Due> withinPayload(List<Due> due) {
    long payload = 0;
    for (int i = 0; i < due.size(); i++) {
      payload += due.get(i).payload();
      if (i > 0 && payload > Tasks.MOST_PAYLOAD) {
        return due.subList(0, i);
      }
    }
    return due;
  }

  private Step plan(
      Tx tx, Instant now, List<Due> due, Function<List<Locked>, List<Planned>> decide) {
    List<StoredSchedule> locked =
        tx.query(LOCK, ScheduleRows::read, Column.longs(due, Due::id), now);
    List<Planned> planned = decide.apply(withOpen(tx, locked));
    FirePlanWriter written = FirePlanWriter.write(tx, tasks, now, planned);
    return new Step(due.size(), planned.size(), written.made(), written.skipped());
  }

  /** The first of them, until there are very many open fires. */
  private static List<Locked> withOpen(Tx tx, List<StoredSchedule> locked) {
    List<Locked> all = new ArrayList<>(locked.size());
    int fires = 0;
    for (int from = 0; from < locked.size() && fires < MOST_OPEN_TOGETHER; from += READ_TOGETHER) {
      List<StoredSchedule> some =
          locked.subList(from, Math.min(locked.size(), from + READ_TOGETHER));
      Map<Long, List<UnsettledFire>> open = open(tx, some);
      for (StoredSchedule each : some) {
        Locked due = new Locked(each, open.getOrDefault(each.id(), List.of()));
        fires += due.open().size();
        all.add(due);
      }
    }
    return all;
  }

  // Through the parent table: the partition of a very old fire may be gone. In two parts, for which
  // there are two indexes: however many a backfill has made, they hide none of the schedule's own.
  private static final String OPEN =
      """
      /* DueSchedules.open */
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
          LIMIT 1 -- else it may be joined by the tenant alone while a new day seems to be empty
      ) t ON true
      ORDER BY f.schedule, f.at, f.local
      """;

  private static Map<Long, List<UnsettledFire>> open(Tx tx, List<StoredSchedule> schedules) {
    Map<Long, List<UnsettledFire>> open = new HashMap<>();
    tx.query(
        OPEN,
        row -> {
          String state = row.getString("state");
          return open.computeIfAbsent(row.getLong("schedule"), _ -> new ArrayList<>())
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
        MOST_OPEN,
        MOST_OPEN);
    return open;
  }

  private static final String POSTPONE =
      """
      /* DueSchedules.postpone */
      UPDATE carillon.schedule
      SET plan_at = ?
      WHERE id = ?
        AND plan_at <= ?
      """;

  /** Puts off a schedule that is due and cannot be planned. */
  public void postpone(Due one, Instant now, Instant until) {
    db.inTransaction(tx -> tx.update(POSTPONE, until, one.id(), now));
  }
}
