package carillon.store.cluster;

import carillon.model.TaskId;
import carillon.model.cluster.ClusterView;
import carillon.model.cluster.Term;
import carillon.model.cluster.Vitals;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The programs that take part, each with a lease of its own. */
public final class Nodes {

  private final Db db;

  public Nodes(Db db) {
    this.db = db;
  }

  /** True for a node that may get shards: it is alive, not draining, and has the engine role. */
  static final String RUNS_TASKS =
      "lease_until > clock_timestamp() AND NOT draining AND 'engine' = ANY (roles)";

  private static final String JOIN =
      """
      /* Nodes.join */
      INSERT INTO carillon.node (id, label, roles, version, lease_until, draining)
      VALUES (?, ?, ?, ?, clock_timestamp() + make_interval(secs => ?), ?)
      """;

  public void join(String id, String label, List<String> roles, String version, Duration lease) {
    join(id, label, roles, version, lease, false);
  }

  /**
   * Inserts the node.
   *
   * @param isDraining whether it gets no shards yet
   */
  public void join(
      String id,
      String label,
      List<String> roles,
      String version,
      Duration lease,
      boolean isDraining) {
    db.inTransaction(
        tx ->
            tx.update(
                JOIN,
                id,
                label,
                Column.texts(roles, role -> role),
                version,
                Sql.seconds(lease),
                isDraining));
  }

  /**
   * What a node reports with every heartbeat.
   *
   * @param clockOffset the database's clock minus its own
   * @param address the URL of its API; null while it is not known
   * @param isDraining whether it is about to stop; never reset
   */
  public record Beat(
      Duration lease,
      Vitals vitals,
      Duration clockOffset,
      @Nullable String address,
      boolean isDraining) {}

  private static final String VIEW =
      """
      SELECT l.term, l.node, s.own, s.given, o.others, o.engines
      FROM (SELECT array_agg(id) FILTER (WHERE node = ?) AS own, count(node) AS given
            FROM carillon.shard) AS s
      CROSS JOIN (SELECT count(*) AS others,
                         count(*) FILTER (WHERE %s) AS engines
                  FROM carillon.node
                  WHERE lease_until > clock_timestamp()
                    AND id <> ?) AS o
      LEFT JOIN carillon.leadership l ON l.node IS NOT NULL AND l.lease_until > clock_timestamp()
      """
          .formatted(RUNS_TASKS);

  // One statement. It reads the other nodes' rows as committed before it started.
  private static final String RENEW =
      """
      /* Nodes.renew */
      WITH renewed AS (
          UPDATE carillon.node
          SET lease_until = clock_timestamp() + make_interval(secs => ?),
              renewed_at = clock_timestamp(),
              in_flight = ?,
              seats = ?,
              lag_ms = ?,
              claimed = ?,
              ended = ?,
              suspects_waiting = ?,
              suspects_running = ?,
              clock_offset_us = ?,
              address = ?,
              draining = draining OR ?
          WHERE id = ?
            AND lease_until > clock_timestamp() -- lapsed is lapsed: its tasks may already be given back
          RETURNING id
      )
      SELECT looks.*
      FROM renewed
      CROSS JOIN (%s) AS looks
      """
          .formatted(VIEW);

  /** Renews the lease and returns the cluster's state; empty if the lease had lapsed. */
  public Optional<ClusterView> renew(String id, Beat beat) {
    Vitals vitals = beat.vitals();
    return db.autoCommit(
        tx ->
            tx.queryOne(
                RENEW,
                Nodes::view,
                Sql.seconds(beat.lease()),
                vitals.inFlight(),
                vitals.seats(),
                vitals.lag(),
                vitals.claimed(),
                vitals.ended(),
                vitals.suspects().waiting(),
                vitals.suspects().running(),
                TimeUnit.NANOSECONDS.toMicros(beat.clockOffset().toNanos()),
                beat.address(),
                beat.isDraining(),
                id,
                id,
                id));
  }

  private static final String DRAIN =
      """
      /* Nodes.drain */
      UPDATE carillon.node
      SET draining = true
      WHERE id = ?
      """;

  private static final String BEGIN =
      """
      /* Nodes.begin */
      UPDATE carillon.node
      SET draining = false
      WHERE id = ?
      """;

  /** The node that joined without is to get shards. */
  public void begin(String id) {
    db.inTransaction(tx -> tx.update(BEGIN, id));
  }

  /** The node is about to stop: it keeps its lease and gets no shards. */
  public void drain(String id) {
    db.inTransaction(tx -> tx.update(DRAIN, id));
  }

  private static final String LOOK = "/* Nodes.view */\n" + VIEW;

  /** The cluster's state from the view of a node that runs tasks. */
  public ClusterView view(String id) {
    return db.autoCommit(tx -> tx.query(LOOK, Nodes::view, id, id)).getFirst();
  }

  private static ClusterView view(ResultSet row) throws SQLException {
    String leader = row.getString("node");
    Array own = row.getArray("own");
    ClusterView view =
        ClusterView.seen(
            leader == null ? null : new Term(row.getLong("term"), leader),
            own == null ? List.of() : Sql.shorts(own),
            row.getInt("given"),
            row.getInt("engines"));
    return row.getInt("others") == 0 ? view : view.inCompany();
  }

  /** How a node is, for people. */
  public enum Status {
    ALIVE,
    /** It is stopping. */
    DRAINING,
    /** It crashed or is cut off from the database. */
    SILENT,
    /** It was stopped, or it was cut off and continues under another id. */
    LEFT
  }

  /** A node as people see it. */
  public record Shown(
      String id,
      String label,
      List<String> roles,
      String version,
      Status status,
      Times times,
      @Nullable String address,
      @Nullable Duration clockOffset,
      Vitals vitals,
      List<Integer> shards) {}

  /**
   * When a node joined, sent its last heartbeat, and is taken for dead.
   *
   * @param renewedAt null before its first heartbeat
   */
  public record Times(Instant startedAt, @Nullable Instant renewedAt, Instant leaseUntil) {}

  private static final String LIST =
      """
      /* Nodes.list */
      SELECT id, label, roles, version, started_at, lease_until, address, clock_offset_us,
             -- A node joins with the time of its start here, and sets both columns with its first heartbeat.
             CASE WHEN clock_offset_us IS NOT NULL THEN renewed_at END AS renewed_at,
             in_flight, seats, lag_ms, claimed, ended, suspects_waiting, suspects_running,
             CASE
                 WHEN lease_until > clock_timestamp() THEN CASE WHEN draining THEN 'DRAINING' ELSE 'ALIVE' END
                 WHEN ending IS NULL THEN 'SILENT'
                 ELSE 'LEFT'
             END AS status,
             ARRAY(SELECT s.id FROM carillon.shard s WHERE s.node = n.id ORDER BY s.id) AS shards
      FROM carillon.node n
      ORDER BY started_at, id
      """;

  /** All nodes, including those that left a while ago. */
  public List<Shown> list() {
    return db.inTransaction(Nodes::list);
  }

  static List<Shown> list(Tx tx) {
    return tx.query(LIST, Nodes::shown);
  }

  private static Shown shown(ResultSet row) throws SQLException {
    long offset = row.getLong("clock_offset_us");
    Duration clockOffset = row.wasNull() ? null : Duration.of(offset, ChronoUnit.MICROS);
    return new Shown(
        row.getString("id"),
        row.getString("label"),
        List.of((String[]) row.getArray("roles").getArray()),
        row.getString("version"),
        Status.valueOf(row.getString("status")),
        new Times(
            Sql.requiredInstant(row, "started_at"),
            Sql.instant(row, "renewed_at"),
            Sql.requiredInstant(row, "lease_until")),
        row.getString("address"),
        clockOffset,
        new Vitals(
            row.getInt("in_flight"),
            row.getInt("seats"),
            Duration.ofMillis(row.getLong("lag_ms")),
            row.getLong("claimed"),
            row.getLong("ended"),
            new Vitals.Suspects(row.getInt("suspects_waiting"), row.getInt("suspects_running"))),
        Sql.shorts(row.getArray("shards")));
  }

  private static final String LEAVE =
      """
      /* Nodes.leave */
      UPDATE carillon.node
      SET lease_until = least(lease_until, clock_timestamp()),
          ending = coalesce(ending, ?)
      WHERE id = ?
      """;

  /** Ends the lease: tasks that the node still holds can be reaped at once. */
  public void leave(String id) {
    db.inTransaction(tx -> tx.update(LEAVE, "LEFT", id));
  }

  /** Records that the node of a lapsed lease was only cut off, so that no task is blamed. */
  public void survive(String id) {
    db.inTransaction(tx -> tx.update(LEAVE, "CUT_OFF", id));
  }

  private static final String MARK =
      """
      /* Nodes.mark */
      UPDATE carillon.node
      SET suspects = ?
      WHERE id = ?
        AND lease_until > clock_timestamp() -- later the reaper may have read them
      """;

  /** Replaces the marks of the suspects that run on a node. False if its lease has lapsed. */
  public boolean mark(String id, List<TaskId> suspects) {
    return db.inTransaction(tx -> tx.update(MARK, Column.uuids(suspects, TaskId::value), id)) == 1;
  }

  private static final String FORGET =
      """
      /* Nodes.forgetLapsed */
      DELETE FROM carillon.node n
      WHERE n.lease_until < clock_timestamp() - make_interval(secs => ?)
        AND NOT EXISTS (SELECT FROM carillon.claim c WHERE c.node = n.id)
      """;

  /** Removes nodes that lapsed that long ago and hold nothing. */
  public int forgetLapsed(Duration after) {
    return db.inTransaction(tx -> tx.update(FORGET, Sql.seconds(after)));
  }
}
