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

  private Mutants() {}

  public static final List<Mutant> ALL =
      List.of(
          new Mutant(
              "M1",
              "a holder that lost its claim can still write the result",
              List.of(
                  text(
                      "queue.Outcomes",
                      "AND t.fence = f.fence -- the fence: a holder that lost its lease can no"
                          + " longer write\n"
                          + "      AND t.claim = f.claim",
                      "AND f.fence > 0 AND f.claim IS NOT NULL",
                      1),
                  text(
                      "queue.Completions",
                      "AND t.fence = f.fence -- the fence: a holder that lost its lease can no"
                          + " longer write\n"
                          + "      AND t.claim = f.claim",
                      "AND f.fence > 0 AND f.claim IS NOT NULL",
                      1)),
              List.of(),
              Scenario.WORKERS,
              Rule.R6),
          new Mutant(
              "M2",
              "a claim reads pending tasks and updates them without locking them",
              List.of(
                  text(
                      "queue.WorkQueue",
                      "LIMIT line.quota\n            FOR UPDATE OF t SKIP LOCKED",
                      "LIMIT line.quota",
                      1),
                  text(
                      "queue.WorkQueue",
                      "WHERE t.ctid = due.row_id\n      AND t.state = 'PENDING'",
                      "WHERE t.tenant = due.tenant AND t.id = due.id",
                      1)),
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
                      "once",
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
                      "AND t.ready_at <= (SELECT clock_timestamp())",
                      "AND t.ready_at <= (SELECT clock_timestamp() + interval '1 hour')",
                      1)),
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
                      "SET state = 'CANCELLED', claim = NULL, lease_until = NULL,\n"
                          + "    finished_at = clock_timestamp(), version = version + 1",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R12),
          new Mutant(
              "M10",
              "an attempt is counted when it ends instead of when it is claimed",
              List.of(
                  text(
                      "queue.WorkQueue",
                      "attempt = t.attempt + 1, -- counted before anything is sent",
                      "",
                      1),
                  text(
                      "queue.Outcomes",
                      "attempt = CASE WHEN f.released THEN t.attempt - 1 ELSE t.attempt END,",
                      "attempt = CASE WHEN f.released THEN t.attempt ELSE t.attempt + 1 END,",
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
                      FROM carillon.task t
                      WHERE t.tenant = ?\
                      """,
                      """
                      /* TaskReader.find */
                      SELECT %s, t.payload
                      FROM carillon.task t
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
                      "crashes = NULL,\n    version = t.version + 1",
                      "crashes = NULL,\n    fence = 0,\n    version = 1",
                      1)),
              List.of(),
              Scenario.DELIVERIES,
              Rule.R6),
          new Mutant(
              "M15",
              "a claim takes up to twice as many tasks as requested",
              List.of(text("queue.WorkQueue", "LIMIT line.quota", "LIMIT line.quota * 2", 1)),
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
                  text(
                      "queue.HeldClaims",
                      """
                      /* HeldClaims.find */
                      SELECT c.id, c.partition, c.tenants, c.tasks
                      FROM carillon.claim c
                      WHERE c.id = ?
                      """,
                      """
                      /* HeldClaims.find */
                      SELECT c.id, c.partition, c.tenants, c.tasks
                      FROM carillon.claim c
                      WHERE c.id = ?
                      FOR UPDATE
                      """,
                      1),
                  text("queue.HeldClaims", "FOR UPDATE OF t SKIP LOCKED", "", 1)),
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
              "held it back"));

  private static Edit text(String className, String from, String to, int times) {
    return new Edit.Text(STORE + className, from, to, times);
  }

  public static Optional<Mutant> named(String name) {
    return ALL.stream().filter(mutant -> mutant.name().equals(name)).findFirst();
  }
}
