package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.cron.NominalTime;
import carillon.model.cron.Timetable;
import carillon.model.schedule.OverlapRule;
import carillon.model.schedule.SkipReason;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.Tasks;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Takes the steps of backfills, across all tenants. Each is one transaction under the locks of the
 * backfill and of its schedule, so a nominal time gets one task, whichever node takes the next step
 * and whatever crashes in between.
 */
public final class BackfillSteps {

  static final int BATCH = 1_000;

  /** A step that takes longer ends early, because it holds the lock of the schedule. */
  private static final Duration STEP_TIMEOUT = Duration.ofMillis(500);

  /** The planner records outcomes of tasks only when it plans, and may have no other reason to. */
  private static final Duration PLAN_AGAIN_AFTER = Duration.ofSeconds(60);

  private static final String WHO = "carillon";

  private final Db db;
  private final Tasks tasks;
  private final Function<StoredSchedule, Timetable> timetables;

  public BackfillSteps(Db db, Tasks tasks, Function<StoredSchedule, Timetable> timetables) {
    this.db = db;
    this.tasks = tasks;
    this.timetables = timetables;
  }

  private static final String OPEN =
      """
      /* BackfillSteps.open */
      SELECT id
      FROM carillon.backfill
      WHERE state = 'RUNNING'
      ORDER BY stepped_at NULLS FIRST, created_at
      LIMIT ?
      """;

  /** Open backfills; those that have waited longest for a step come first. */
  public List<UUID> open(int limit) {
    return db.autoCommit(tx -> tx.query(OPEN, row -> Sql.uuid(row, "id"), limit));
  }

  private static final String POSTPONE =
      """
      /* BackfillSteps.postpone */
      UPDATE carillon.backfill
      SET stepped_at = clock_timestamp()
      WHERE id = ?
      """;

  /** Moves a backfill whose step failed behind the others. */
  public void postpone(UUID id) {
    db.inTransaction(tx -> tx.update(POSTPONE, id));
  }

  /**
   * The result of a step.
   *
   * @param created number of created tasks
   */
  public record Step(int created, boolean isOver) {
    private static final Step NONE = new Step(0, true);
  }

  /** Takes the next step of a backfill, unless it is over. */
  public Step take(UUID id) {
    return db.inTransaction(tx -> take(tx, id));
  }

  private record Row(
      UUID id,
      TenantId tenant,
      long schedule,
      String name,
      Backfill.State state,
      Instant to,
      OverlapRule overlap,
      Instant cursor,
      Instant dueAt) {}

  private static Row row(ResultSet row) throws SQLException {
    return new Row(
        Sql.uuid(row, "id"),
        new TenantId(row.getInt("tenant")),
        row.getLong("schedule"),
        row.getString("name"),
        Backfill.State.valueOf(row.getString("state")),
        Sql.requiredInstant(row, "to_at"),
        OverlapRule.valueOf(row.getString("overlap")),
        Sql.requiredInstant(row, "cursor"),
        Sql.requiredInstant(row, "due_at"));
  }

  private static final String LOCK =
      """
      /* BackfillSteps.lock */
      SELECT id, tenant, schedule, name, state, to_at, overlap, cursor, due_at
      FROM carillon.backfill
      WHERE id = ?
      FOR UPDATE
      """;

  private static final String LOCK_SCHEDULE =
      """
      /* BackfillSteps.lockSchedule */
      SELECT %s
      FROM carillon.schedule
      WHERE id = ?
      FOR UPDATE -- a planner or a change comes first or waits
      """
          .formatted(ScheduleRows.COLUMNS);

  Step take(Tx tx, UUID id) {
    Optional<Row> found = tx.queryOne(LOCK, BackfillSteps::row, id);
    if (found.isEmpty() || found.get().state() != Backfill.State.RUNNING) {
      return Step.NONE;
    }
    Row row = found.get();
    Optional<StoredSchedule> schedule =
        tx.queryOne(LOCK_SCHEDULE, ScheduleRows::read, row.schedule());
    if (schedule.isEmpty()) {
      stop(tx, row);
      return Step.NONE;
    }
    NominalTimes some =
        NominalTimes.of(
            schedule.get().schedule(),
            timetables.apply(schedule.get()),
            row.cursor(),
            row.to(),
            maxTimes(schedule.get()),
            STEP_TIMEOUT);
    return create(tx, row, schedule.get(), some);
  }

  private static int maxTimes(StoredSchedule schedule) {
    int payload = Math.max(1, Tasks.payloadLength(schedule.schedule().task().payload()));
    return Math.clamp(Tasks.MAX_PAYLOAD / payload, 1, BATCH);
  }

  private static void stop(Tx tx, Row row) {
    Backfills.stop(tx, row.id());
    Audit.record(
        tx,
        row.tenant(),
        WHO,
        "schedule.backfill.stop",
        row.name(),
        JsonNodeFactory.instance
            .objectNode()
            .put("id", row.id().toString())
            .put("reason", "the schedule was deleted")
            .toString());
  }

  /**
   * A nominal time to be recorded.
   *
   * @param task null inside a DST gap
   */
  private record Fire(NominalTime time, @Nullable TaskId task, Instant dueAt) {}

  private static final String ADVANCE =
      """
      /* BackfillSteps.advance */
      UPDATE carillon.backfill
      SET created = created + ?,
          existing = existing + ?,
          skipped = skipped + ?,
          times = greatest(times, created + existing + skipped + ?), -- the schedule may have changed since
          cursor = ?,
          due_at = ?,
          stepped_at = clock_timestamp(),
          state = CASE WHEN ? THEN 'DONE' ELSE state END,
          finished_at = CASE WHEN ? THEN clock_timestamp() END
      WHERE id = ?
      """;

  private static final String PLAN_BY =
      """
      /* BackfillSteps.planBy */
      UPDATE carillon.schedule
      SET plan_at = ?
      WHERE id = ?
        AND (plan_at IS NULL OR plan_at > ?)
      """;

  private Step create(Tx tx, Row row, StoredSchedule schedule, NominalTimes some) {
    Instant now = DbClock.now(tx);
    Set<Instant> taken =
        taken(
            tx,
            schedule,
            some.times().stream().filter(NominalTime::fires).map(NominalTime::at).toList());
    Instant dueAt = row.dueAt().isAfter(now) ? row.dueAt() : now;
    List<Fire> fires = new ArrayList<>();
    int skipped = 0;
    for (NominalTime time : some.times()) {
      if (!time.fires()) {
        fires.add(new Fire(time, null, dueAt));
        skipped++;
      } else if (!taken.contains(time.at())) {
        fires.add(new Fire(time, TaskId.at(dueAt, ThreadLocalRandom.current()), dueAt));
        dueAt = dueAt.plusMillis(1);
      }
    }
    int created = write(tx, row, schedule, fires);
    if (created > 0) {
      Instant planAt = now.plus(PLAN_AGAIN_AFTER);
      tx.update(PLAN_BY, planAt, schedule.id(), planAt);
    }
    tx.update(
        ADVANCE,
        created,
        some.times().size() - skipped - created,
        skipped,
        some.times().size(),
        some.upTo(),
        dueAt,
        some.isOver(),
        some.isOver(),
        row.id());
    return new Step(created, some.isOver());
  }

  // By the instant alone: after a change of zone, the same instant has another local time.
  private static final String TAKEN =
      """
      /* BackfillSteps.taken */
      SELECT n.at
      FROM unnest(?::timestamptz[]) AS n (at)
      CROSS JOIN LATERAL (
          SELECT
          FROM carillon.schedule_fire f
          WHERE f.schedule = ?
            AND f.at = n.at
            AND f.task IS NOT NULL
            AND f.kind <> 'TRIGGER'
          LIMIT 1
      ) f
      """;

  /** The times among these for which the schedule has created a task. */
  static Set<Instant> taken(Tx tx, StoredSchedule schedule, List<Instant> times) {
    return times.isEmpty()
        ? Set.of()
        : new HashSet<>(
            tx.query(
                TAKEN,
                row -> Sql.requiredInstant(row, "at"),
                Column.instants(times, at -> at),
                schedule.id()));
  }

  // A skipped time becomes a task; a time that has a task keeps it.
  private static final String RECORD =
      """
      /* BackfillSteps.record */
      INSERT INTO carillon.schedule_fire AS f (schedule, at, local, shift, kind, skipped, task, partition)
      SELECT ?, n.at, n.local AT TIME ZONE 'UTC', n.shift, 'BACKFILL', n.skipped, n.task, n.partition
      FROM unnest(?::timestamptz[], ?::timestamptz[], ?::text[], ?::text[], ?::uuid[], ?::date[])
           AS n (at, local, shift, skipped, task, partition)
      ON CONFLICT (schedule, at, local) DO UPDATE
      SET shift = excluded.shift,
          kind = excluded.kind,
          skipped = NULL,
          task = excluded.task,
          partition = excluded.partition,
          recorded_at = excluded.recorded_at
      WHERE f.task IS NULL
        AND excluded.task IS NOT NULL
      RETURNING f.task
      """;

  // Only skips by the schedule itself were counted. The lock of the schedule keeps them unchanged
  // until they are recorded.
  private static final String SKIPPED =
      """
      /* BackfillSteps.skipped */
      SELECT f.skipped, n.task
      FROM unnest(?::timestamptz[], ?::timestamptz[], ?::uuid[]) AS n (at, local, task)
      CROSS JOIN LATERAL (
          SELECT f.skipped
          FROM carillon.schedule_fire f
          WHERE f.schedule = ?
            AND f.at = n.at
            AND f.local = n.local AT TIME ZONE 'UTC'
            AND f.skipped IS NOT NULL
            AND f.kind = 'SCHEDULED'
          LIMIT 1 -- looked up one by one: the planner could turn a join into a scan of all fires
      ) f
      WHERE n.task IS NOT NULL
      """;

  /** The skip reasons of fires that were skipped before, by the task that each gets now. */
  private static Map<UUID, SkipReason> skipped(Tx tx, StoredSchedule schedule, List<Fire> fires) {
    Map<UUID, SkipReason> skipped = new HashMap<>();
    tx.query(
        SKIPPED,
        row ->
            skipped.put(Sql.uuid(row, "task"), SkipReason.valueOf(row.getString("skipped")))
                == null,
        Column.instants(fires, fire -> fire.time().at()),
        Column.instants(fires, fire -> fire.time().local().toInstant(ZoneOffset.UTC)),
        Column.uuids(fires, fire -> fire.task() == null ? null : fire.task().value()),
        schedule.id());
    return skipped;
  }

  /** Creates a task only for a fire that this step has recorded. */
  private int write(Tx tx, Row row, StoredSchedule schedule, List<Fire> fires) {
    if (fires.isEmpty()) {
      return 0;
    }
    Map<UUID, SkipReason> skipped = skipped(tx, schedule, fires);
    Set<UUID> recorded =
        new HashSet<>(
            tx.query(
                RECORD,
                r -> r.getObject("task", UUID.class),
                schedule.id(),
                Column.instants(fires, fire -> fire.time().at()),
                Column.instants(fires, fire -> fire.time().local().toInstant(ZoneOffset.UTC)),
                Column.texts(fires, fire -> fire.time().shift().name()),
                Column.texts(fires, fire -> fire.task() == null ? SkipReason.DST_GAP.name() : null),
                Column.uuids(fires, fire -> fire.task() == null ? null : fire.task().value()),
                Column.dates(
                    fires, fire -> fire.task() == null ? null : fire.task().partition().day())));
    List<Tasks.Fired> fired = new ArrayList<>();
    for (Fire fire : fires) {
      if (fire.task() != null && recorded.contains(fire.task().value())) {
        fired.add(
            new Tasks.Fired(
                row.tenant(),
                fire.task(),
                schedule.schedule().name(),
                fire.time().at(),
                schedule
                    .schedule()
                    .taskDue(fire.dueAt(), row.overlap(), schedule.schedule().task().payload())));
      }
    }
    tasks.createFired(tx, fired);
    skipped.keySet().retainAll(recorded);
    SkipCounters.subtract(tx, schedule.id(), skipped.values());
    return fired.size();
  }
}
