package carillon.chaos.mutants;

import carillon.chaos.mutants.Mutant.Scenario;
import carillon.chaos.rules.Rule;
import java.util.List;
import java.util.Optional;

/**
 * All mutants. The missing numbers (M5, M13, M14) were for defects in parts that the program does
 * not have.
 */
public final class Mutants {

  private static final String STORE = "carillon.store.";

  /** Reads the rows that the plain form of a claim deletes, and returns the same columns. */
  private static final String READ_PLAIN =
      """
          SELECT due.tenant, q.id, q.lane, q.attempt + 1 AS attempt, q.fence + 1 AS fence, q.ready_at
          FROM carillon.queue_{partition} q
          CROSS JOIN due
          WHERE q.ctid = due.row_id\
      """;

  /** The end of the statement part that {@link #READ_PLAIN} replaces. */
  private static final String RETURNING_PLAIN =
      "\n    RETURNING due.tenant, q.id, q.lane, q.attempt + 1 AS attempt, q.fence + 1 AS fence,"
          + " q.ready_at\n)";

  /** A setting of the transaction that keeps a task's payload from one statement to the next. */
  private static final String KEPT_PAYLOAD = "'chaos.p' || replace(t.id::text, '-', '')";

  private Mutants() {}

  public static final List<Mutant> ALL =
      List.of(
          new Mutant(
              "M1",
              "a holder that lost its claim can still write the result",
              List.of(
                  text("queue.Outcomes", "AND t.fence = f.fence - 1 --", "AND f.fence > 0 --", 1),
                  text(
                      "queue.Completions",
                      "AND t.fence = f.fence - 1 --",
                      "AND f.fence > 0 --",
                      1)),
              List.of(),
              Scenario.WORKERS,
              Rule.R6),
          new Mutant(
              "M2",
              "a claim reads waiting tasks without locking them, and lists those that another claim"
                  + " has deleted",
              List.of(
                  text(
                      "queue.WorkQueue",
                      """
                              LIMIT line.quota
                              FOR UPDATE OF q SKIP LOCKED
                          ) q
                      ), taken AS (
                          DELETE FROM\
                      """,
                      """
                              LIMIT line.quota
                          ) q
                      ), taken AS (
                      """
                          + READ_PLAIN
                          + """
                                AND due.is_plain
                          ), deleted AS (
                              DELETE FROM\
                          """,
                      1),
                  text("queue.WorkQueue", RETURNING_PLAIN, "\n)", 1)),
              List.of(),
              Scenario.WORKERS,
              Rule.R4),
          new Mutant(
              "M3",
              "commits are acknowledged before they are on disk",
              List.of(),
              List.of(
                  "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',"
                      + " current_database()); END $$",
                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                      + " WHERE datname = current_database() AND pid <> pg_backend_pid()"),
              Scenario.DATABASE_CRASH,
              Rule.R1),
          new Mutant(
              "M4",
              "a submit is answered before its transaction commits",
              List.of(
                  new Edit.Call(
                      STORE + "db.Db",
                      "commit",
                      "java.sql.Connection.commit",
                      ResponseBeforeCommit.class,
                      1),
                  new Edit.Call(
                      STORE + "db.Db",
                      "once",
                      "java.sql.Connection.close",
                      ResponseBeforeCommit.class,
                      2)),
              List.of(),
              Scenario.NODE_CRASH,
              Rule.R1),
          new Mutant(
              "M6",
              "a nominal time can be planned more than once",
              List.of(
                  text(
                      "schedules.FirePlanWriter",
                      "ON CONFLICT (schedule, at, local) DO NOTHING",
                      "",
                      1),
                  text(
                      "schedules.FirePlanWriter",
                      "AND f.kind <> 'TRIGGER')",
                      "AND f.kind = 'NONE')",
                      1),
                  text(
                      "schedules.FirePlanWriter",
                      "SET cursor = n.cursor,",
                      "SET cursor = s.cursor,",
                      1),
                  new Edit.Call(
                      "carillon.model.schedule.FireHash",
                      "taskId",
                      "carillon.model.schedule.FireHash.sha256",
                      RandomFireHash.class,
                      1)),
              List.of("ALTER TABLE carillon.schedule_fire DROP CONSTRAINT schedule_fire_pkey"),
              Scenario.SCHEDULES,
              Rule.R10),
          new Mutant(
              "M7",
              "a node that was leader once believes that it still is",
              List.of(
                  text(
                      "db.Db",
                      "SELECT carillon.leads(?, ?) AS leads",
                      "SELECT ?::bigint > 0 AND ?::text IS NOT NULL AS leads",
                      1),
                  new Edit.Call(
                      "carillon.cluster.Election",
                      "renew",
                      "carillon.store.cluster.Leadership.renew",
                      AlwaysLeader.class,
                      1)),
              List.of(),
              Scenario.LEADER_PAUSE,
              Rule.R11),
          new Mutant(
              "M8",
              "claims compare due times with a clock that is one hour ahead",
              List.of(
                  text(
                      "queue.WorkQueue",
                      "AND q.ready_at <= (SELECT now FROM arg)",
                      "AND q.ready_at <= (SELECT now + interval '1 hour' FROM arg)",
                      2)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R8,
              "before it was due"), // seen by the receiver, not only by the witness
          new Mutant(
              "M9",
              "cancelling a running task ends it at once, as if it were pending",
              List.of(
                  text(
                      "tasks.TaskChanges",
                      "SET cancel_requested = true,\n    version = version + 1",
                      "SET state = 'CANCELLED', ready_at = NULL, lease_until = NULL,\n"
                          + "    finished_at = clock_timestamp(), version = version + 1",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R12),
          new Mutant(
              "M10",
              "an attempt that does not complete the task is not counted",
              List.of(
                  text(
                      "queue.Outcomes",
                      "attempt = CASE WHEN f.released THEN t.attempt ELSE t.attempt + 1 END,",
                      "attempt = t.attempt,",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R7),
          new Mutant(
              "M11",
              "any tenant that knows the id of a task can read it",
              List.of(
                  text(
                      "tasks.TaskReader",
                      """
                      /* TaskReader.find */
                      SELECT %s, t.payload
                      FROM carillon.every_task_{partition} t
                      WHERE t.tenant = ?\
                      """,
                      """
                      /* TaskReader.find */
                      SELECT %s, t.payload
                      FROM carillon.every_task_{partition} t
                      WHERE ?::int > 0\
                      """,
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R14),
          new Mutant(
              "M12",
              "a redrive resets the version and the fence of the task",
              List.of(
                  text(
                      "tasks.TaskRedrives",
                      "crashes = NULL,\n        version = t.version + 1",
                      "crashes = NULL,\n        fence = 0,\n        version = 1",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R6),
          new Mutant(
              "M15",
              "a claim takes up to twice as many tasks as requested",
              List.of(text("queue.WorkQueue", "LIMIT line.quota", "LIMIT line.quota * 2", 2)),
              List.of(),
              Scenario.WORKERS,
              Rule.R8B),
          new Mutant(
              "M16",
              "a host name is resolved again after its address was checked (DNS rebinding)",
              List.of(
                  new Edit.Call(
                      "carillon.delivery.http.Connection",
                      "connect",
                      "java.net.Socket.connect",
                      ResolveAgain.class,
                      1)),
              List.of(),
              Scenario.NAMES,
              Rule.R22),
          new Mutant(
              "M17",
              "suspects start without being recorded on their node first",
              List.of(
                  text("cluster.Nodes", "SET suspects = ?", "SET suspects = (?::uuid[])[1:0]", 1)),
              List.of(),
              Scenario.POISON,
              Rule.R23,
              "nodes crashed"),
          new Mutant(
              "M18",
              "suspects on their last chance run together instead of alone",
              List.of(
                  new Edit.Call(
                      "carillon.engine.Suspects",
                      "next",
                      "carillon.engine.SuspectGroups.size",
                      LargeSuspectGroups.class,
                      2)),
              List.of(),
              Scenario.POISON,
              Rule.R23,
              "no node crashed"),
          new Mutant(
              "M19",
              "loopback addresses count as public",
              List.of(
                  new Edit.Text(
                      "carillon.model.target.AddressRules", "127.0.0.0/8", "127.0.0.0/32", 1)),
              List.of(),
              Scenario.NAMES,
              Rule.R22),
          new Mutant(
              "M20",
              "the reaper locks a claim before its tasks, and waits for locked tasks",
              List.of(
                  text("queue.HeldClaims", "FOR UPDATE OF t SKIP LOCKED", "FOR UPDATE OF c, t", 1)),
              List.of(),
              Scenario.WORKERS,
              Rule.R24),
          new Mutant(
              "M21",
              "a suspect is sent although it was cancelled while its node held it back",
              List.of(
                  text(
                      "queue.WorkQueue",
                      "WHERE t.cancel_requested",
                      "WHERE t.cancel_requested AND false",
                      1)),
              List.of(),
              Scenario.SUSPECTS,
              Rule.R12,
              "held it back"),
          new Mutant(
              "M22",
              "a claim reads payloads in the snapshot of its statement, and edits only lock the row"
                  + " of the queue",
              List.of(
                  text(
                      "queue.WorkQueue",
                      "AS max_length,\n           clock_timestamp() AS now",
                      "AS max_length,\n           clock_timestamp() AS now\n"
                          + "    FROM pg_sleep(0.05)", // after the snapshot and before the locks
                      1),
                  text(
                      "queue.WorkQueue",
                      "taken.*, NULL::smallint AS crashes",
                      """
                      taken.*, NULL::smallint AS crashes,
                             (SELECT set_config(%s, t.payload, true)
                              FROM carillon.task_{partition} t
                              WHERE t.tenant = taken.tenant
                                AND t.id = taken.id) AS kept\
                      """
                          .formatted(KEPT_PAYLOAD),
                      1),
                  text(
                      "queue.WorkQueue",
                      "t.key, t.payload, t.target",
                      "t.key, coalesce(nullif(current_setting(%s, true), ''), t.payload) AS payload, t.target"
                          .formatted(KEPT_PAYLOAD),
                      1),
                  text(
                      "tasks.TaskChanges",
                      "AND q.ready_at = ?\n  AND q.id = ?",
                      """
                      AND q.ready_at = ?
                        AND q.id = ?
                        AND (q.ready_at, q.lane, q.payload_bytes) IS DISTINCT FROM
                            (patched.ready_at, patched.lane, coalesce(octet_length(patched.payload), 0))\
                      """,
                      1)),
              List.of(),
              Scenario.EDITS,
              Rule.R5),
          new Mutant(
              "M23",
              "an edit of a waiting task does not lock its row in the queue",
              List.of(
                  text("tasks.TaskReader", "FOR UPDATE --", "--", 1),
                  text(
                      "tasks.TaskChanges",
                      "WITH patched AS (",
                      """
                      WITH pause AS MATERIALIZED (
                          SELECT pg_sleep(0.05)
                      ), patched AS (\
                      """,
                      1),
                  text(
                      "tasks.TaskChanges",
                      "AND state IN ('PENDING', 'DEAD')",
                      "AND state IN ('PENDING', 'DEAD') AND (SELECT count(*) FROM pause) = 1",
                      1)),
              List.of(),
              Scenario.EDITS,
              Rule.R5),
          new Mutant(
              "M24",
              "a cancel of a waiting task leaves its row in the queue",
              List.of(
                  text(
                      "tasks.TaskChanges",
                      "DELETE FROM carillon.queue_{partition}",
                      "SELECT FROM carillon.queue_{partition}",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R12),
          new Mutant(
              "M25",
              "a task that dies or is cancelled while it runs returns to the queue",
              List.of(
                  text(
                      "queue.Outcomes",
                      """
                          SELECT ready_at, expires_at, id, lane, partition, attempt, fence, coalesce(payload_bytes, 0), crashes,
                                 concurrency_key
                          FROM done
                          WHERE state = 'PENDING'\
                      """,
                      """
                          SELECT coalesce(ready_at, clock_timestamp()), expires_at, id, lane, partition, attempt, fence,
                                 coalesce(payload_bytes, 0), crashes, concurrency_key
                          FROM done\
                      """,
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R9),
          new Mutant(
              "M26",
              "a task that starts immediately is not listed by a claim",
              List.of(text("tasks.TaskInserts", "WHERE t.tasks IS NOT NULL", "WHERE false", 1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R25),
          new Mutant(
              "M27",
              "a claim does not delete the rows of the queue that it takes",
              List.of(
                  text(
                      "queue.WorkQueue",
                      """
                          DELETE FROM carillon.queue_{partition} q
                          USING due
                          WHERE q.ctid = due.row_id -- a row\
                      """,
                      READ_PLAIN + " -- a row",
                      1),
                  text("queue.WorkQueue", RETURNING_PLAIN, "\n)", 1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R4));

  private static Edit text(String className, String from, String to, int times) {
    return new Edit.Text(STORE + className, from, to, times);
  }

  public static Optional<Mutant> named(String name) {
    return ALL.stream().filter(mutant -> mutant.name().equals(name)).findFirst();
  }
}
