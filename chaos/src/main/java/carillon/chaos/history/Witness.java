package carillon.chaos.history;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Triggers that record inside the database what the program changes: who held a task when it was
 * written and until when, which term led, where the cursor of a schedule was, when a node started a
 * suspect. The program does not know about them. Installed once, after the migrations.
 *
 * <p>The log of tasks shows what users see. A task is RUNNING there from the insert of a claim that
 * lists it until the update of its row that raises its fence, and its attempt, fence and version
 * count the attempt from the claim on, although the row of the task does not change before the end.
 * All changes of a task are logged in their order: a claim is logged while it has the queue row,
 * which every change of a waiting task locks too, and an end can only follow the commit of the
 * claim.
 */
public final class Witness {

  private Witness() {}

  private static final String TABLES =
      """
      /* Witness.install */
      CREATE SCHEMA chaos;
      CREATE TABLE chaos.task_log (
          seq           bigint GENERATED ALWAYS AS IDENTITY,
          at            timestamptz NOT NULL DEFAULT clock_timestamp(),
          pid           int NOT NULL DEFAULT pg_backend_pid(),
          session       text NOT NULL DEFAULT session_user,
          pool          text NOT NULL DEFAULT current_setting('application_name'),
          xact          xid8 NOT NULL DEFAULT pg_current_xact_id(),
          tenant        int NOT NULL,
          task          uuid NOT NULL,
          from_state    text, -- NULL: inserted
          to_state      text, -- NULL: deleted
          from_version  int,
          to_version    int,
          from_attempt  int,
          to_attempt    int,
          from_fence    int,
          to_fence      int,
          from_claim    uuid,
          to_claim      uuid,
          holder        text, -- the holder before the change; NULL: none
          held_until    timestamptz, -- end of the holder's lease at that time
          ready_at      timestamptz, -- could be claimed from then on
          cancel        boolean,
          edited        boolean -- its payload changed
      );
      -- Each task of each claim. Rows stay: the row of a claim may be gone when the end of its last task is logged.
      CREATE TABLE chaos.held (
          tenant      int NOT NULL,
          task        uuid NOT NULL,
          fence       int NOT NULL, -- of the lease
          claim       uuid NOT NULL,
          node        text, -- whose lease covers it; NULL: lease_until counts
          holder      text NOT NULL,
          lease_until timestamptz
      );
      CREATE INDEX ON chaos.held (task, fence); -- for every change of a waiting or running task
      CREATE TABLE chaos.leader_log (
          seq         bigint GENERATED ALWAYS AS IDENTITY,
          at          timestamptz NOT NULL DEFAULT clock_timestamp(),
          from_term   bigint,
          from_node   text,
          from_lease  timestamptz,
          term        bigint,
          node        text,
          lease_until timestamptz
      );
      CREATE TABLE chaos.shard_log (
          seq       bigint GENERATED ALWAYS AS IDENTITY,
          at        timestamptz NOT NULL DEFAULT clock_timestamp(),
          session   text NOT NULL DEFAULT session_user, -- each node logs in with a role named as its label
          shard     int,
          from_node text,
          from_term bigint,
          node      text,
          term      bigint,
          in_force  bigint, -- the current term
          leader    text -- of the current term
      );
      CREATE TABLE chaos.cursor_log (
          seq         bigint GENERATED ALWAYS AS IDENTITY,
          at          timestamptz NOT NULL DEFAULT clock_timestamp(),
          session     text NOT NULL DEFAULT session_user,
          pool        text NOT NULL DEFAULT current_setting('application_name'),
          schedule    bigint,
          from_cursor timestamptz,
          cursor      timestamptz,
          generation  int,
          in_force    bigint,
          leader      text
      );
      CREATE TABLE chaos.mark_log (
          seq  bigint GENERATED ALWAYS AS IDENTITY,
          at   timestamptz NOT NULL DEFAULT clock_timestamp(),
          node text,
          task uuid -- a suspect that the node is about to start
      );
      """;

  /* PostgreSQL applies triggers of the partitioned parent to every partition, including later ones. */
  private static final String TRIGGERS =
      """
      /* Witness.install */
      -- The claim under which a task runs, by its stored row; all NULL: it does not run.
      CREATE FUNCTION chaos.holder(of_tenant int, of_task uuid, state text, stored_fence int, renewed timestamptz)
      RETURNS chaos.held LANGUAGE plpgsql AS $$
      DECLARE
          found chaos.held;
      BEGIN
          IF state = 'PENDING' THEN
              SELECT h.tenant, h.task, h.fence, h.claim, h.node, h.holder,
                     coalesce(renewed, h.lease_until,
                              (SELECT n.lease_until FROM carillon.node n WHERE n.id = h.node))
              INTO found
              FROM chaos.held h
              WHERE h.tenant = of_tenant
                AND h.task = of_task
                AND h.fence = stored_fence + 1
              LIMIT 1;
          END IF;
          RETURN found;
      END
      $$;

      CREATE FUNCTION chaos.task_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
          held chaos.held; -- before the change
          ran  int := 0; -- 1 if it was running, to be added to what is stored
          runs int := 0; -- 1 if it is still running
      BEGIN
          IF TG_OP = 'INSERT' THEN
              INSERT INTO chaos.task_log (tenant, task, to_state, to_version, to_attempt, to_fence, cancel)
              VALUES (NEW.tenant, NEW.id, NEW.state, NEW.version, NEW.attempt, NEW.fence, NEW.cancel_requested);
              RETURN NULL;
          END IF;
          held := chaos.holder(OLD.tenant, OLD.id, OLD.state::text, OLD.fence, OLD.lease_until);
          IF held.claim IS NOT NULL THEN
              ran := 1;
          END IF;
          IF TG_OP = 'DELETE' THEN
              INSERT INTO chaos.task_log (
                  tenant, task, from_state, from_version, from_attempt, from_fence, from_claim, holder, held_until)
              VALUES (OLD.tenant, OLD.id, CASE WHEN ran = 1 THEN 'RUNNING' ELSE OLD.state::text END,
                      OLD.version + ran, OLD.attempt + ran, OLD.fence + ran, held.claim, held.holder,
                      held.lease_until);
              RETURN NULL;
          END IF;
          IF NEW.state = 'PENDING' AND NEW.fence = OLD.fence THEN
              runs := ran;
          END IF;
          INSERT INTO chaos.task_log (
              tenant, task, from_state, to_state, from_version, to_version, from_attempt, to_attempt, from_fence,
              to_fence, from_claim, to_claim, holder, held_until, ready_at, cancel, edited)
          VALUES (NEW.tenant, NEW.id, CASE WHEN ran = 1 THEN 'RUNNING' ELSE OLD.state::text END,
                  CASE WHEN runs = 1 THEN 'RUNNING' ELSE NEW.state::text END, OLD.version + ran, NEW.version + runs,
                  OLD.attempt + ran, NEW.attempt + runs, OLD.fence + ran, NEW.fence + runs, held.claim,
                  CASE WHEN runs = 1 THEN held.claim END, held.holder, held.lease_until,
                  CASE WHEN ran = 0 THEN OLD.ready_at END, NEW.cancel_requested,
                  NEW.payload IS DISTINCT FROM OLD.payload);
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER INSERT OR UPDATE OR DELETE ON carillon.task
          FOR EACH ROW EXECUTE FUNCTION chaos.task_seen();

      CREATE FUNCTION chaos.claim_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          -- Reads the tasks as they are after the claim has locked their queue rows.
          INSERT INTO chaos.task_log (
              tenant, task, from_state, to_state, from_version, to_version, from_attempt, to_attempt, from_fence,
              to_fence, from_claim, to_claim, holder, held_until, ready_at, cancel, edited)
          SELECT c.tenant, c.task, CASE WHEN h.claim IS NULL THEN coalesce(t.state::text, 'MISSING') ELSE 'RUNNING' END,
                 'RUNNING', t.version + h.ran, t.version + 1, t.attempt + h.ran, t.attempt + 1, t.fence + h.ran,
                 c.fence, h.claim, NEW.id, h.holder, h.lease_until, t.ready_at, t.cancel_requested, false
          FROM unnest(NEW.tenants, NEW.tasks, NEW.fences) AS c (tenant, task, fence)
          LEFT JOIN carillon.task t ON t.tenant = c.tenant AND t.id = c.task AND t.partition = NEW.partition
          CROSS JOIN LATERAL (
              SELECT o.claim, o.holder, o.lease_until, (o.claim IS NOT NULL)::int AS ran
              FROM chaos.holder(t.tenant, t.id, t.state::text, t.fence, t.lease_until) o
          ) h;
          INSERT INTO chaos.held (tenant, task, fence, claim, node, holder, lease_until)
          SELECT c.tenant, c.task, c.fence, NEW.id, NEW.node, NEW.leased_by, NEW.lease_until
          FROM unnest(NEW.tenants, NEW.tasks, NEW.fences) AS c (tenant, task, fence);
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER INSERT ON carillon.claim
          FOR EACH ROW EXECUTE FUNCTION chaos.claim_seen();

      CREATE FUNCTION chaos.leader_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          INSERT INTO chaos.leader_log (from_term, from_node, from_lease, term, node, lease_until)
          VALUES (OLD.term, OLD.node, OLD.lease_until, NEW.term, NEW.node, NEW.lease_until);
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER UPDATE ON carillon.leadership
          FOR EACH ROW WHEN (OLD.term <> NEW.term OR OLD.node IS DISTINCT FROM NEW.node)
          EXECUTE FUNCTION chaos.leader_seen();

      CREATE FUNCTION chaos.shard_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          INSERT INTO chaos.shard_log (shard, from_node, from_term, node, term, in_force, leader)
          SELECT NEW.id, OLD.node, OLD.term, NEW.node, NEW.term, l.term, l.node
          FROM carillon.leadership l;
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER UPDATE ON carillon.shard
          FOR EACH ROW EXECUTE FUNCTION chaos.shard_seen();

      CREATE FUNCTION chaos.cursor_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          INSERT INTO chaos.cursor_log (schedule, from_cursor, cursor, generation, in_force, leader)
          SELECT NEW.id, OLD.cursor, NEW.cursor, NEW.generation, l.term, l.node
          FROM carillon.leadership l;
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER UPDATE ON carillon.schedule
          FOR EACH ROW WHEN (OLD.cursor <> NEW.cursor) EXECUTE FUNCTION chaos.cursor_seen();

      CREATE FUNCTION chaos.mark_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          INSERT INTO chaos.mark_log (node, task)
          SELECT NEW.id, marked.task
          FROM unnest(NEW.suspects) AS marked (task)
          WHERE marked.task <> ALL (OLD.suspects);
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER UPDATE ON carillon.node
          FOR EACH ROW WHEN (OLD.suspects <> NEW.suspects) EXECUTE FUNCTION chaos.mark_seen();
      """;

  /** The triggers run with the program's privileges. */
  private static final String RIGHTS =
      """
      /* Witness.install */
      GRANT USAGE ON SCHEMA chaos TO PUBLIC;
      GRANT INSERT ON ALL TABLES IN SCHEMA chaos TO PUBLIC;
      GRANT SELECT ON chaos.held TO PUBLIC;
      """;

  public static void install(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(TABLES);
      statement.execute(RIGHTS);
      statement.execute(TRIGGERS);
    }
  }
}
