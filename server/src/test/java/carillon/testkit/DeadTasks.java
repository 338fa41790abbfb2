package carillon.testkit;

import carillon.model.TaskId;
import carillon.model.target.Target;
import java.util.Random;

/** Inserts thousands of dead tasks with one statement. */
public final class DeadTasks {

  private DeadTasks() {}

  /**
   * Inserts dead tasks of the types {@code t0} to {@code t3}, in {@code kinds} groups. Every second
   * group has a status (500, 502, ...) and an output such as {@code {"reason": "No rate for 42"}};
   * the others failed to connect. The first task died an hour ago, and each of the others a
   * millisecond after the previous one.
   */
  public static void fill(World world, int letters, int kinds) {
    for (int type = 0; type < 4; type++) { // creates the lanes
      world.cancel(world.create(World.task("t" + type, new Target.Pull())));
    }
    TaskId now = TaskId.at(world.clock.instant(), new Random(1)); // an id starts with its time
    world.sql(
        """
        INSERT INTO carillon.task (
            tenant, id, partition, lane, state, due_at, created_at, attempt, fence, leased_by, started_at, finished_at,
            status, failure, key, metadata, payload, error, output, crashes, expires_at)
        SELECT 1, ('%s-7000-8000-' || lpad(n::text, 12, '0'))::uuid, DATE '%s',
               (SELECT l.id FROM carillon.lane l WHERE l.type = 't' || n %% %d %% 4), 'DEAD', now() - interval '2 hours',
               now() - interval '3 hours', 5, 5, 'a-node', now() - interval '61 minutes',
               now() - interval '1 hour' + n * interval '1 ms', CASE WHEN n %% %d %% 2 = 0 THEN 500 + n %% %d END,
               CASE WHEN n %% %d %% 2 = 0 THEN 'STATUS' ELSE 'CONNECTION' END, 'key ' || n,
               jsonb_build_object('tens', (n / 10)::text), '{"n": ' || n || '}',
               'order ' || n || ' failed in a way called ' || chr(65 + n %% %d),
               CASE WHEN n %% %d %% 2 = 0 THEN '{"reason": "No rate for ' || n || '"}' END, 1, now() + interval '1 day'
        FROM generate_series(1, %d) AS n
        """
            .formatted(
                now.toString().substring(0, 13),
                now.partition().day(),
                kinds,
                kinds,
                kinds,
                kinds,
                kinds,
                kinds,
                letters));
    world.sql(
        """
        INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error, failure, status, key)
        SELECT t.tenant, t.id, t.partition, l.type, t.finished_at, t.error, t.failure, t.status, t.key
        FROM carillon.task t
        JOIN carillon.lane l ON l.id = t.lane
        WHERE t.state = 'DEAD'
        """);
  }
}
