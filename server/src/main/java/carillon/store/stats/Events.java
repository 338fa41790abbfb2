package carillon.store.stats;

import static java.util.Objects.requireNonNull;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.TaskState;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Changes of tasks of watched tenants: written by the node that made the change, read by the nodes
 * that have event streams, and deleted after half a minute.
 */
public final class Events {

  private static final Duration RETENTION = Duration.ofSeconds(30);

  private final Db db;

  public Events(Db db) {
    this.db = db;
  }

  /**
   * One change, or a number of changes that were not written.
   *
   * @param change null if only {@code skipped} counts
   */
  public record Event(TenantId tenant, Instant at, @Nullable Change change, int skipped) {}

  /**
   * A change of a task.
   *
   * @param from null if it was created; equal to {@code to} if its state has not changed
   */
  public record Change(
      TaskId task, String type, @Nullable TaskState from, TaskState to, int attempt) {}

  /**
   * A stored event.
   *
   * @param id identifies it, for readers that get it twice
   */
  public record Written(long id, Event event) {}

  private static final String WATCH =
      """
      /* Events.watch */
      INSERT INTO carillon.watch (tenant, until)
      SELECT tenant, clock_timestamp() + make_interval(secs => ?)
      FROM unnest(?::int[]) AS w (tenant)
      ORDER BY tenant -- the same order on every node, so that none deadlocks
      ON CONFLICT (tenant) DO UPDATE
      SET until = excluded.until
      """;

  /** Marks tenants as watched for some time; returns how many. */
  public int watch(Collection<TenantId> tenants, Duration time) {
    return db.autoCommit(
        tx -> tx.update(WATCH, Sql.seconds(time), Column.ints(tenants, TenantId::value)));
  }

  private static final String WATCHED =
      """
      /* Events.watched */
      SELECT tenant
      FROM carillon.watch
      WHERE until > clock_timestamp()
      """;

  /** The tenants with event streams on any node. */
  public Set<TenantId> watched() {
    return db.autoCommit(
        tx -> new HashSet<>(tx.query(WATCHED, row -> new TenantId(row.getInt("tenant")))));
  }

  private static final String WRITE =
      """
      /* Events.write */
      INSERT INTO carillon.event (tenant, at, type, task, from_state, to_state, attempt, skipped, node)
      SELECT tenant, at, type, task, from_state::carillon.task_state, to_state::carillon.task_state, attempt, skipped, ?
      FROM unnest(?::int[], ?::timestamptz[], ?::text[], ?::uuid[], ?::text[], ?::text[], ?::int[], ?::int[])
           AS e (tenant, at, type, task, from_state, to_state, attempt, skipped)
      """;

  /** Writes the events of a node. A retry after a lost connection may write them twice. */
  public void write(List<Event> events, String node) {
    db.autoCommit(
        tx ->
            tx.update(
                WRITE,
                node,
                Column.ints(events, event -> event.tenant().value()),
                Column.instants(events, event -> event.at()),
                Column.texts(
                    events, event -> event.change() == null ? null : event.change().type()),
                Column.uuids(
                    events, event -> event.change() == null ? null : event.change().task().value()),
                Column.texts(
                    events, event -> event.change() == null ? null : name(event.change().from())),
                Column.texts(
                    events, event -> event.change() == null ? null : event.change().to().name()),
                Column.ints(
                    events, event -> event.change() == null ? null : event.change().attempt()),
                Column.ints(events, Event::skipped)));
  }

  private static @Nullable String name(@Nullable TaskState state) {
    return state == null ? null : state.name();
  }

  private static final String READ =
      """
      /* Events.read */
      SELECT id, tenant, at, type, task, from_state, to_state, attempt, skipped
      FROM carillon.event
      WHERE written_at > ?
        AND tenant = ANY (?)
      ORDER BY written_at, id
      """;

  /**
   * The events of tenants written since a time. An event becomes visible later than it was written,
   * so consecutive reads must overlap.
   */
  public List<Written> read(Collection<TenantId> tenants, Instant since) {
    return db.autoCommit(
        tx -> tx.query(READ, Events::written, since, Column.ints(tenants, TenantId::value)));
  }

  private static Written written(ResultSet row) throws SQLException {
    return new Written(
        row.getLong("id"),
        new Event(
            new TenantId(row.getInt("tenant")),
            Sql.requiredInstant(row, "at"),
            row.getString("task") == null ? null : change(row),
            row.getInt("skipped")));
  }

  private static Change change(ResultSet row) throws SQLException {
    String from = row.getString("from_state");
    return new Change(
        new TaskId(Sql.uuid(row, "task")),
        requireNonNull(row.getString("type")),
        from == null ? null : TaskState.valueOf(from),
        TaskState.valueOf(row.getString("to_state")),
        row.getInt("attempt"));
  }

  private static final String FORGET =
      """
      /* Events.forgetOld */
      DELETE FROM carillon.event
      WHERE ctid = ANY (ARRAY(
          SELECT ctid
          FROM carillon.event
          WHERE written_at < (SELECT clock_timestamp()) - make_interval(secs => ?)
          ORDER BY written_at
          LIMIT ?
      ))
      """;

  private static final String FORGET_WATCHES =
      """
      /* Events.forgetWatches */
      DELETE FROM carillon.watch
      WHERE until < clock_timestamp() - make_interval(secs => ?)
      """;

  /** Deletes old events and watches; returns how many events. */
  public int forgetOld(int limit) {
    return db.inTransaction(
        tx -> {
          tx.update(FORGET_WATCHES, Sql.seconds(RETENTION));
          return tx.update(FORGET, Sql.seconds(RETENTION), limit);
        });
  }
}
