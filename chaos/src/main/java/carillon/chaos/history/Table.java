package carillon.chaos.history;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;

/** A table that is read from the database at the end of a run. */
public enum Table {
  TENANT("SELECT id, name FROM carillon.tenant"),

  TYPE("SELECT tenant, name, timeout_ms, lease_timeout_ms, retry FROM carillon.task_type"),

  TASK(
      """
      SELECT t.tenant, t.id, l.type, l.route, t.key, t.state, t.attempt, t.fence, t.version, t.due_at, t.created_at,
             t.ready_at, t.started_at, t.finished_at, t.cancel_requested, t.schedule, t.fire_at, t.leased_by, t.claim,
             t.status, t.failure, t.error, t.crashes, t.retry, t.expires_at, t.concurrency_key,
             CASE WHEN jsonb_typeof(t.payload::jsonb) = 'object' THEN t.payload::jsonb ->> 'n' END AS n
      FROM carillon.every_task t
      JOIN carillon.lane l ON l.id = t.lane
      """),

  ATTEMPT(
      """
      SELECT tenant, task, attempt, fence, leased_by, started_at, ended_at, outcome, failure, status
      FROM carillon.attempt
      """),

  TRANSITION(
      """
      SELECT tenant, task, at, from_state, to_state, fence, who, reason
      FROM carillon.every_transition
      """),

  DEAD_LETTER("SELECT tenant, task, type, died_at, failure, status FROM carillon.dead_letter"),

  SCHEDULE(
      """
      SELECT id, tenant, name, cron, every_ms, timezone, dst_gap, dst_overlap, anchor, start_at, end_at, created_at,
             cursor, plan_at, generation, paused
      FROM carillon.schedule
      """),

  FIRE(
      """
      SELECT schedule, at, local, kind, skipped, task, outcome, recorded_at
      FROM carillon.schedule_fire
      """),

  AUDIT("SELECT id, tenant, at, who, action, subject FROM carillon.audit"),

  NODE("SELECT * FROM carillon.node"),

  CLAIM("SELECT id, node, lease_until, cardinality(tasks) AS tasks FROM carillon.claim"),

  MISPLACED("SELECT tenant, id AS task, state, queue_rows, claims FROM carillon.misplaced_task"),

  TASK_LOG("SELECT * FROM chaos.task_log"),

  LEADER_LOG("SELECT * FROM chaos.leader_log"),

  SHARD_LOG("SELECT * FROM chaos.shard_log"),

  CURSOR_LOG("SELECT * FROM chaos.cursor_log"),

  MARK_LOG("SELECT * FROM chaos.mark_log");

  private final String query;

  Table(String query) {
    this.query = query;
  }

  String written() {
    return name().toLowerCase(Locale.ROOT);
  }

  static Table read(String written) {
    return valueOf(written.toUpperCase(Locale.ROOT));
  }

  /** Writes all tables to a file, from one snapshot. Times are text as PostgreSQL writes them. */
  public static void dump(Connection connection, Path file) throws SQLException, IOException {
    connection.setAutoCommit(false);
    connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    try (BufferedWriter out = Files.newBufferedWriter(file);
        Statement statement = connection.createStatement()) {
      statement.setFetchSize(1000);
      for (Table table : values()) {
        dump(statement, table, out);
      }
    }
    connection.commit();
  }

  private static void dump(Statement statement, Table table, BufferedWriter out)
      throws SQLException, IOException {
    String query = "SELECT to_jsonb(r) FROM (" + table.query + ") r";
    try (ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        out.write(new Row(table, Fields.read(rows.getString(1))).line());
        out.write('\n');
      }
    }
  }
}
