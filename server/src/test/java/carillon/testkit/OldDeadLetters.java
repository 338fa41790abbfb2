package carillon.testkit;

import carillon.model.Partition;
import carillon.model.TaskId;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.stream.IntStream;

/** Inserts thousands of dead letters that are two hours old or older. */
public final class OldDeadLetters {

  private OldDeadLetters() {}

  /**
   * Inserts tasks of the type {@code t} that died two hours ago, each with one attempt and three
   * transitions.
   */
  public static List<TaskId> insert(World world, int count) {
    TaskId now = TaskId.at(Instant.now(), new Random(1));
    Partition partition = now.partition();
    String lane = lane(world);
    String start = now.toString().substring(0, 13); // an id starts with its time
    world.sql(
        """
        WITH t AS (
            INSERT INTO carillon.task (tenant, id, partition, lane, state, due_at, created_at, started_at, finished_at,
                                       version, attempt, fence, leased_by, failure, error, payload)
            SELECT 1, ('%s-7000-8000-' || lpad(n::text, 12, '0'))::uuid, DATE '%s', %s, 'DEAD', now(), now(), now(),
                   now(), 4, 2, 2, 'node', 'TIMEOUT', 'too slow ' || n, '{"n": ' || n || '}'
            FROM generate_series(1, %d) AS n
            RETURNING *
        ), letters AS (
            INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, kept_from, error, failure)
            SELECT tenant, id, partition, 't', now() - interval '2 hours', now() - interval '2 hours', error, failure
            FROM t
        ), attempts AS (
            INSERT INTO carillon.attempt (tenant, task, partition, attempt, fence, leased_by, ended_at, outcome)
            SELECT tenant, id, partition, 1, 1, 'node', now(), 'RETRIED'
            FROM t
        )
        INSERT INTO carillon.transition (tenant, task, partition, at, from_state, to_state, fence, who)
        SELECT tenant, id, partition, now() + n * interval '1 ms', a::carillon.task_state, b::carillon.task_state, 1, 'node'
        FROM t, (VALUES (1, 'PENDING', 'RUNNING'), (2, 'RUNNING', 'PENDING'), (3, 'PENDING', 'RUNNING')) AS s (n, a, b)
        """
            .formatted(start, partition.day(), lane, count));
    return IntStream.rangeClosed(1, count)
        .mapToObj(n -> new TaskId(UUID.fromString("%s-7000-8000-%012d".formatted(start, n))))
        .toList();
  }

  /** Inserts dead tasks without attempts and transitions. */
  public static void insertBare(World world, int count) {
    TaskId now = TaskId.at(Instant.now(), new Random(1));
    world.sql(
        """
        WITH t AS (
            INSERT INTO carillon.task (tenant, id, partition, lane, state, due_at, created_at)
            SELECT 1, ('%s-7000-8000-' || lpad(n::text, 12, '0'))::uuid, DATE '%s', %s, 'DEAD', now(), now()
            FROM generate_series(1, %d) AS n
            RETURNING *
        )
        INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, kept_from)
        SELECT tenant, id, partition, 't', now() - interval '2 hours', now() - interval '2 hours'
        FROM t
        """
            .formatted(now.toString().substring(0, 13), now.partition().day(), lane(world), count));
  }

  /** Makes all dead letters two hours older. */
  public static void age(World world) {
    world.sql("UPDATE carillon.dead_letter SET kept_from = kept_from - interval '2 hours'");
  }

  private static String lane(World world) {
    TaskId id = world.discard();
    String lane = world.value("SELECT lane FROM carillon.task WHERE id = '" + id + "'");
    world.sql("DELETE FROM carillon.task WHERE id = '" + id + "'");
    return lane;
  }
}
