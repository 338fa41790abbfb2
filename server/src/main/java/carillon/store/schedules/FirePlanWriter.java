package carillon.store.schedules;

import carillon.model.TaskId;
import carillon.model.cron.NominalTime;
import carillon.model.schedule.FirePlan;
import carillon.model.schedule.FireSettlement;
import carillon.model.schedule.Schedule;
import carillon.model.schedule.SkipReason;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskCancels;
import carillon.store.tasks.Tasks;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes the planner's decisions about schedules whose rows are locked. If a nominal time already
 * has a recorded fire, that one stays and the new decision is dropped: no task, no count.
 */
final class FirePlanWriter {

  private static final String ACTOR = "carillon";

  /** The number of new tasks by schedule. */
  private final Map<Long, Integer> runs = new HashMap<>();

  /** The number of skipped nominal times by schedule and reason. */
  private final Map<Long, Map<SkipReason, Integer>> skipped = new HashMap<>();

  private FirePlanWriter() {}

  static FirePlanWriter write(Tx tx, Tasks tasks, Instant now, List<DueSchedules.Planned> planned) {
    FirePlanWriter writer = new FirePlanWriter();
    settle(tx, planned);
    List<Row> recorded = writer.record(tx, now, planned);
    createTasks(tx, tasks, recorded);
    cancelPrevious(tx, planned, recorded);
    writer.advance(tx, planned);
    for (DueSchedules.Planned each : planned) {
      String reason = each.settlement().pauseReason();
      if (reason != null && !each.locked().schedule().isPaused()) {
        pause(tx, now, each.locked().schedule(), reason);
      }
    }
    return writer;
  }

  int created() {
    return runs.values().stream().mapToInt(Integer::intValue).sum();
  }

  Map<SkipReason, Integer> skipped() {
    Map<SkipReason, Integer> sum = new EnumMap<>(SkipReason.class);
    skipped.values().forEach(some -> some.forEach((why, n) -> sum.merge(why, n, Integer::sum)));
    return sum;
  }

  private static final String SETTLE =
      """
      /* FirePlanWriter.settle */
      WITH settled AS MATERIALIZED (
          SELECT f.ctid, n.outcome
          FROM unnest(?::bigint[], ?::timestamptz[], ?::text[], ?::text[]) AS n (schedule, at, local, outcome)
          CROSS JOIN LATERAL (
              SELECT ctid
              FROM carillon.schedule_fire
              WHERE schedule = n.schedule
                AND at = n.at
                AND local = n.local::timestamp
                AND outcome IS NULL
              LIMIT 1
          ) f
      )
      UPDATE carillon.schedule_fire f
      SET outcome = settled.outcome
      FROM settled
      WHERE f.ctid = settled.ctid
        AND f.outcome IS NULL
      """;

  private record SettledRow(long schedule, FireSettlement.Settled settled) {}

  private static void settle(Tx tx, List<DueSchedules.Planned> planned) {
    List<SettledRow> rows = new ArrayList<>();
    for (DueSchedules.Planned each : planned) {
      for (FireSettlement.Settled settled : each.settlement().settled()) {
        rows.add(new SettledRow(each.locked().schedule().id(), settled));
      }
    }
    if (!rows.isEmpty()) {
      tx.update(
          SETTLE,
          Column.longs(rows, SettledRow::schedule),
          Column.instants(rows, row -> row.settled().fire().at()),
          Column.texts(rows, row -> row.settled().fire().local().toString()),
          Column.texts(rows, row -> row.settled().end().name()));
    }
  }

  /** A fire to be recorded. */
  private record Row(StoredSchedule schedule, FirePlan.Decision decision) {

    NominalTime time() {
      return decision.time();
    }

    @Nullable TaskId task() {
      return decision instanceof FirePlan.Decision.Create create ? create.task() : null;
    }

    @Nullable LocalDate partition() {
      TaskId task = task();
      return task == null ? null : task.partition().day();
    }

    @Nullable SkipReason skipped() {
      return decision instanceof FirePlan.Decision.Skip skip ? skip.reason() : null;
    }

    Key key() {
      return new Key(schedule.id(), time().at(), time().local().toString());
    }
  }

  private record Key(long schedule, Instant at, String local) {}

  // An instant may have a fire with another local time, from before the schedule's zone was
  // changed.
  private static final String RECORD =
      """
      /* FirePlanWriter.record */
      INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, skipped, task, partition, recorded_at)
      SELECT n.schedule, n.at, n.local::timestamp, n.shift, 'SCHEDULED', n.skipped, n.task, n.partition, ?
      FROM unnest(?::bigint[], ?::timestamptz[], ?::text[], ?::text[], ?::text[], ?::uuid[], ?::date[])
           AS n (schedule, at, local, shift, skipped, task, partition)
      WHERE n.task IS NULL
         OR NOT EXISTS (
             SELECT FROM carillon.schedule_fire f
             WHERE f.schedule = n.schedule
               AND f.at = n.at
               AND f.task IS NOT NULL
               AND f.kind <> 'TRIGGER')
      ON CONFLICT (schedule, at, local) DO NOTHING
      RETURNING schedule, at, local
      """;

  /** Returns the fires that were not recorded already. */
  private List<Row> record(Tx tx, Instant now, List<DueSchedules.Planned> planned) {
    List<Row> rows = new ArrayList<>();
    planned.forEach(
        each ->
            each.plan()
                .decisions()
                .forEach(decision -> rows.add(new Row(each.locked().schedule(), decision))));
    if (rows.isEmpty()) {
      return rows;
    }
    Set<Key> inserted =
        new HashSet<>(
            tx.query(
                RECORD,
                row ->
                    new Key(
                        row.getLong("schedule"),
                        Sql.requiredInstant(row, "at"),
                        row.getObject("local", LocalDateTime.class).toString()),
                now,
                Column.longs(rows, row -> row.schedule().id()),
                Column.instants(rows, row -> row.time().at()),
                Column.texts(rows, row -> row.time().local().toString()),
                Column.texts(rows, row -> row.time().shift().name()),
                Column.texts(rows, row -> row.skipped() == null ? null : row.skipped().name()),
                Column.uuids(rows, row -> row.task() == null ? null : row.task().value()),
                Column.dates(rows, Row::partition)));
    rows.removeIf(row -> !inserted.contains(row.key()));
    rows.forEach(this::count);
    return rows;
  }

  private void count(Row row) {
    SkipReason why = row.skipped();
    if (why == null) {
      runs.merge(row.schedule().id(), 1, Integer::sum);
    } else {
      skipped
          .computeIfAbsent(row.schedule().id(), _ -> new EnumMap<>(SkipReason.class))
          .merge(why, 1, Integer::sum);
    }
  }

  private static void createTasks(Tx tx, Tasks tasks, List<Row> recorded) {
    List<Tasks.Fired> fired = new ArrayList<>();
    for (Row row : recorded) {
      if (row.decision() instanceof FirePlan.Decision.Create create) {
        Schedule schedule = row.schedule().schedule();
        fired.add(
            new Tasks.Fired(
                row.schedule().tenant(),
                create.task(),
                schedule.name(),
                row.time().at(),
                schedule.taskDue(create.dueAt())));
      }
    }
    if (!fired.isEmpty()) {
      tasks.createFired(tx, fired);
    }
  }

  /** Cancels only for new fires: for one recorded earlier, the task to cancel may be its own. */
  private static void cancelPrevious(
      Tx tx, List<DueSchedules.Planned> planned, List<Row> recorded) {
    Set<TaskId> created = new HashSet<>();
    for (Row row : recorded) {
      if (row.decision() instanceof FirePlan.Decision.Create create) {
        created.add(create.task());
      }
    }
    List<TaskCancels.Task> previous = new ArrayList<>();
    for (DueSchedules.Planned each : planned) {
      for (FirePlan.Cancel cancel : each.plan().cancels()) {
        if (created.contains(cancel.by())) {
          previous.add(new TaskCancels.Task(each.locked().schedule().tenant(), cancel.task()));
        }
      }
    }
    if (!previous.isEmpty()) {
      TaskCancels.cancel(
          tx, previous, new TaskCancels.Because(ACTOR, "its schedule has fired again"));
    }
  }

  // Joined by ctid, which the row lock keeps stable: joined by id, a query plan made when there
  // were
  // few schedules compares all of them with all of these.
  private static final String ADVANCE =
      """
      /* FirePlanWriter.advance */
      WITH n AS MATERIALIZED (
          SELECT n.*, s.row_ctid
          FROM unnest(?::bigint[], ?::timestamptz[], ?::timestamptz[], ?::int[], ?::int[], ?::int[], ?::int[], ?::int[],
                      ?::int[], ?::int[], ?::int[], ?::int[], ?::int[])
               AS n (id, cursor, plan_at, runs, completed, failed, cancelled, failures_in_a_row, skipped_overlap,
                     skipped_paused, skipped_window, skipped_dst_gap, skipped_ended)
          CROSS JOIN LATERAL (SELECT ctid AS row_ctid FROM carillon.schedule WHERE id = n.id LIMIT 1) s
      )
      UPDATE carillon.schedule s
      SET cursor = n.cursor,
          plan_at = n.plan_at,
          runs = s.runs + n.runs,
          completed = s.completed + n.completed,
          failed = s.failed + n.failed,
          cancelled = s.cancelled + n.cancelled,
          failures_in_a_row = n.failures_in_a_row,
          skipped_overlap = s.skipped_overlap + n.skipped_overlap,
          skipped_paused = s.skipped_paused + n.skipped_paused,
          skipped_window = s.skipped_window + n.skipped_window,
          skipped_dst_gap = s.skipped_dst_gap + n.skipped_dst_gap,
          skipped_ended = s.skipped_ended + n.skipped_ended
      FROM n
      WHERE s.ctid = n.row_ctid
      """;

  private void advance(Tx tx, List<DueSchedules.Planned> planned) {
    if (planned.isEmpty()) {
      return;
    }
    tx.update(
        ADVANCE,
        Column.longs(planned, FirePlanWriter::id),
        Column.instants(planned, each -> each.plan().cursor()),
        Column.instants(planned, each -> each.plan().planAt()),
        Column.ints(planned, each -> runs.getOrDefault(id(each), 0)),
        Column.ints(planned, each -> each.settlement().completed()),
        Column.ints(planned, each -> each.settlement().failed()),
        Column.ints(planned, each -> each.settlement().cancelled()),
        Column.ints(planned, each -> each.settlement().failuresInARow()),
        Column.ints(planned, each -> skipped(each, SkipReason.OVERLAP)),
        Column.ints(planned, each -> skipped(each, SkipReason.PAUSED)),
        Column.ints(planned, each -> skipped(each, SkipReason.WINDOW)),
        Column.ints(planned, each -> skipped(each, SkipReason.DST_GAP)),
        Column.ints(planned, each -> skipped(each, SkipReason.ENDED)));
  }

  private static long id(DueSchedules.Planned planned) {
    return planned.locked().schedule().id();
  }

  private int skipped(DueSchedules.Planned planned, SkipReason why) {
    return skipped.getOrDefault(id(planned), Map.of()).getOrDefault(why, 0);
  }

  private static final String PAUSE =
      """
      /* FirePlanWriter.pause */
      UPDATE carillon.schedule
      SET paused = true,
          paused_reason = ?,
          paused_by = ?,
          paused_at = ?,
          updated_at = ?,
          version = version + 1
      WHERE id = ?
      """;

  private static void pause(Tx tx, Instant now, StoredSchedule schedule, String reason) {
    tx.update(PAUSE, reason, ACTOR, now, now, schedule.id());
    String detail = Json.of(Map.of("reason", reason)).toString();
    Audit.record(
        tx, schedule.tenant(), ACTOR, "schedule.pause", schedule.schedule().name(), detail);
    var because = new TaskCancels.Because(ACTOR, "its schedule was paused: " + reason);
    PlannedTaskWithdrawals.withdraw(tx, schedule.id(), schedule.tenant(), now, because);
    PlannedTaskWithdrawals.cancelLate(tx, schedule.id(), schedule.tenant(), now, because);
  }
}
