package carillon.testkit;

import carillon.model.TaskId;
import carillon.store.schedules.Backfills;

/** Inserts schedules and fires with SQL, and reads the fires of a schedule. */
public final class ScheduleRows {

  private final World world;

  public ScheduleRows(World world) {
    this.world = world;
  }

  /** Inserts a schedule with a fixed interval from 2025 on; the planner never plans it. */
  public long every(String name, int seconds) {
    return add(name, "NULL", String.valueOf(seconds * 1_000L), "UTC");
  }

  public long cron(String name, String cron, String zone) {
    return add(name, "'" + cron + "'", "NULL", zone);
  }

  private long add(String name, String cron, String millis, String zone) {
    return Long.parseLong(
        world.value(
            """
            INSERT INTO carillon.schedule (
                tenant, name, cron, every_ms, timezone, dst_gap, dst_overlap, overlap, catch_up, catch_up_limit,
                catch_up_window_ms, jitter_ms, type, key, priority, payload, target, created_at, updated_at, anchor,
                cursor)
            VALUES (1, '%s', %s, %s, '%s', 'SKIP', 'FIRST', 'SKIP', 'LAST', 100, 604800000, 0, 'report', 'k', 7,
                    '{"n": 1}', '{"discard": {}}', now(), now(), '2025-01-01T00:00:00Z', now())
            RETURNING id
            """
                .formatted(name, cron, millis, zone)));
  }

  /** Requests a backfill through the calls that the API makes. */
  public Backfills.Result backfill(String schedule, Backfills.Request request) {
    return switch (world.store.backfills().check(World.TENANT, schedule, request)) {
      case Backfills.Check.Refused(var why) -> why;
      case Backfills.Check.Valid(var found) ->
          world
              .store
              .backfills()
              .count(found, request)
              .map(
                  range ->
                      world.db.inTransaction(tx -> world.store.backfills().start(tx, range, "me")))
              .orElseGet(Backfills.Result.TooManyTimes::new);
    };
  }

  /** Records that a nominal time was skipped. */
  public void recordSkip(long schedule, String at, String reason) {
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, skipped)
        VALUES (%d, '%s', timestamptz '%s' AT TIME ZONE 'UTC', 'NONE', 'SCHEDULED', '%s')
        """
            .formatted(schedule, at, at, reason));
  }

  /**
   * Records a task for a nominal time, as if another process had created it.
   *
   * @param zone time zone of the schedule, for the local time of the fire
   */
  public TaskId recordTask(long schedule, String at, String zone) {
    TaskId task = world.discard();
    world.sql(
        """
        INSERT INTO carillon.schedule_fire (schedule, at, local, shift, kind, task, partition)
        VALUES (%d, '%s', timestamptz '%s' AT TIME ZONE '%s', 'NONE', 'SCHEDULED', '%s', '%s')
        """
            .formatted(schedule, at, at, zone, task, task.partition().day()));
    return task;
  }

  /** The fires of a schedule in order, each as time, kind and result. */
  public String fires(long schedule) {
    return world.value(
        """
        SELECT coalesce(string_agg(
                   to_char(at AT TIME ZONE 'UTC', 'HH24:MI:SS') || ' ' || kind || ' ' || coalesce(skipped, 'task'),
                   ', ' ORDER BY at, local), '')
        FROM carillon.schedule_fire
        WHERE schedule = %d
        """
            .formatted(schedule));
  }

  /** The number of nominal times that do not have exactly one task of their own. */
  public String countMismatches(long schedule) {
    return world.value(
        """
        SELECT count(*)
        FROM (
            SELECT f.at
            FROM carillon.schedule_fire f
            FULL JOIN carillon.task t ON t.id = f.task AND t.fire_at = f.at
            WHERE f.schedule IS NULL AND t.schedule IS NOT NULL
               OR f.schedule = %d AND t.id IS NULL
            UNION ALL
            SELECT fire_at
            FROM carillon.task
            WHERE schedule IS NOT NULL
            GROUP BY fire_at, schedule
            HAVING count(*) > 1
        ) AS wrong
        """
            .formatted(schedule));
  }
}
