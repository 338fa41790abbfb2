package carillon.chaos.history;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Triggers that record inside the database what the program changes: who held a task when it was
 * written and until when, which term led, where the cursor of a schedule was, when a node started a
 * suspect. The program does not know about them. Installed once, after the migrations.
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
          holder        text, -- leased_by before the change
          held_until    timestamptz, -- end of the holder's lease at that time
          ready_at      timestamptz, -- could be claimed from then on
          cancel        boolean
      );
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
      CREATE FUNCTION chaos.task_seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
          IF TG_OP = 'INSERT' THEN
              INSERT INTO chaos.task_log (tenant, task, to_state, to_version, to_attempt, to_fence, to_claim, cancel)
              VALUES (NEW.tenant, NEW.id, NEW.state, NEW.version, NEW.attempt, NEW.fence, NEW.claim,
                      NEW.cancel_requested);
          ELSIF TG_OP = 'DELETE' THEN
              INSERT INTO chaos.task_log (tenant, task, from_state, from_version, from_attempt, from_fence, from_claim)
              VALUES (OLD.tenant, OLD.id, OLD.state, OLD.version, OLD.attempt, OLD.fence, OLD.claim);
          ELSE
              INSERT INTO chaos.task_log (
                  tenant, task, from_state, to_state, from_version, to_version, from_attempt, to_attempt, from_fence,
                  to_fence, from_claim, to_claim, holder, held_until, ready_at, cancel)
              VALUES (NEW.tenant, NEW.id, OLD.state, NEW.state, OLD.version, NEW.version, OLD.attempt, NEW.attempt,
                      OLD.fence, NEW.fence, OLD.claim, NEW.claim, OLD.leased_by,
                      coalesce(OLD.lease_until, (SELECT n.lease_until FROM carillon.node n WHERE n.id = OLD.leased_by)),
                      OLD.ready_at, NEW.cancel_requested);
          END IF;
          RETURN NULL;
      END
      $$;
      CREATE TRIGGER seen AFTER INSERT OR UPDATE OR DELETE ON carillon.task
          FOR EACH ROW EXECUTE FUNCTION chaos.task_seen();

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
      """;

  public static void install(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(TABLES);
      statement.execute(RIGHTS);
      statement.execute(TRIGGERS);
    }
  }
}
