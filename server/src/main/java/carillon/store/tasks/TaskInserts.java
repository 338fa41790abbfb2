package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.task.ClaimedTask;
import carillon.model.task.Lane;
import carillon.model.task.Lease;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.ColumnList;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Inserts new tasks and their rows in the queue, and adds them to the agenda once they are
 * committed. A task that is due may be claimed in the transaction that creates it: then it has no
 * row in the queue, and starts as soon as that transaction is committed.
 */
public final class TaskInserts {

  private static final Logger log = LoggerFactory.getLogger(TaskInserts.class);

  /** The maximum number of rows per INSERT; a large batch is many of these in one transaction. */
  static final int MAX_ROWS = 2_000;

  /** Approximate payload per statement, which is held in memory several times. */
  private static final int STATEMENT_PAYLOAD = 4 << 20;

  /** From this number of rows on, COPY saves more than its additional round trips cost. */
  private static final int COPIED_FROM = 500;

  /**
   * Rows of at least this size are copied, however few: COPY holds one row in memory at a time,
   * INSERT all of them.
   */
  private static final int COPIED_FROM_BYTES = 1 << 20;

  /** The maximum number of rows per COPY, so that it ends before statement_timeout. */
  private static final int COPY_BATCH = 10_000;

  private static final Duration ANNOUNCED_AHEAD = Duration.ofMinutes(1);

  private final Db db;
  private final Catalog catalog;
  private final DbClock clock;
  private final DueListener due;
  private final Counters counters;
  private volatile ImmediateClaims immediateClaims = _ -> List.of();

  TaskInserts(Db db, Catalog catalog, DbClock clock, DueListener due, Counters counters) {
    this.db = db;
    this.catalog = catalog;
    this.clock = clock;
    this.due = due;
    this.counters = counters;
  }

  /** Claims tasks for this node in the transaction that creates them. */
  public interface ImmediateClaims {

    /**
     * Takes seats for the new tasks of each lane, if they may start immediately: this node owns the
     * lane, and nothing waits in it. Tasks of lanes that no claim covers wait.
     *
     * @param tasks how many per lane
     */
    List<ImmediateClaim> reserve(Map<Lane, Integer> tasks);
  }

  /** A claim that is made in the transaction that creates its tasks. Ends with one of the calls. */
  public interface ImmediateClaim {

    UUID id();

    String node();

    /** The lanes whose new tasks it covers. */
    Set<Lane> lanes();

    /** The tasks that were claimed. The others have a row in the queue, like any other task. */
    void created(List<ClaimedTask> tasks);

    /** The transaction failed, or its response was lost. */
    void failed();
  }

  void claimImmediately(ImmediateClaims immediateClaims) {
    this.immediateClaims = immediateClaims;
  }

  // ---- Tasks that wait ----

  private static final ColumnList COLUMNS =
      ColumnList.of(
              "tenant int, id uuid, lane int, ready_at timestamptz, due_at timestamptz,"
                  + " created_at timestamptz, expires_at timestamptz")
          .and(TaskColumns.SPEC)
          .and(ColumnList.of("schedule text, fire_at timestamptz"));

  private static final ColumnList QUEUE_COLUMNS =
      ColumnList.of(
          "ready_at timestamptz, expires_at timestamptz, id uuid, lane int, partition date,"
              + " payload_bytes int, concurrency_key text");

  private static final String INSERT =
      """
      /* TaskInserts.insert */
      WITH task AS (
          INSERT INTO carillon.task_{partition} (partition, %s)
          SELECT DATE '{day}', n.*
          FROM unnest(%s) AS n
          RETURNING ready_at, expires_at, id, lane, partition, octet_length(payload) AS payload_bytes, concurrency_key
      )
      INSERT INTO carillon.queue_{partition} (%s)
      SELECT ready_at, expires_at, id, lane, partition, coalesce(payload_bytes, 0), concurrency_key
      FROM task
      """
          .formatted(COLUMNS.names(), COLUMNS.arrays(), QUEUE_COLUMNS.names());

  private static final String COPY_TASKS =
      """
      /* TaskInserts.copyTasks */
      COPY carillon.task_{partition} (partition, %s)
      FROM STDIN (FORMAT binary)
      """
          .formatted(COLUMNS.names());

  private static final String COPY_QUEUE =
      """
      /* TaskInserts.copyQueue */
      COPY carillon.queue_{partition} (%s)
      FROM STDIN (FORMAT binary)
      """
          .formatted(QUEUE_COLUMNS.names());

  /** Runs at least one statement per partition. */
  void insert(Tx tx, PackedRows rows) {
    rows.byPartition()
        .forEach(
            (partition, indexes) -> {
              if (indexes.length < COPIED_FROM && rows.bytes(indexes) < COPIED_FROM_BYTES) {
                insertInto(tx, partition, rows.copies(indexes));
              } else {
                for (int from = 0; from < indexes.length; from += COPY_BATCH) {
                  int to = Math.min(indexes.length, from + COPY_BATCH);
                  copy(tx, partition, rows.rows(Arrays.copyOfRange(indexes, from, to)));
                }
              }
            });
    announce(tx, rows.ids().size(), rows.earliest());
    tx.created(rows.created());
  }

  void insert(Tx tx, List<TaskRow> rows) {
    Map<Partition, List<TaskRow>> byPartition = new TreeMap<>();
    rows.forEach(
        row -> byPartition.computeIfAbsent(row.id().partition(), _ -> new ArrayList<>()).add(row));
    byPartition.forEach(
        (partition, some) -> statements(some).forEach(part -> insertPart(tx, partition, part)));
    announce(tx, rows.size(), earliest(byPartition));
    tx.created(rows);
  }

  /** The rows as parts for one statement each. */
  private static List<List<TaskRow>> statements(List<TaskRow> rows) {
    List<List<TaskRow>> parts = new ArrayList<>();
    int from = 0;
    long payload = 0;
    for (int i = 0; i < rows.size(); i++) {
      int size = Tasks.payloadLength(rows.get(i).spec().payload());
      if (i > from && (i - from == MAX_ROWS || payload + size > STATEMENT_PAYLOAD)) {
        parts.add(rows.subList(from, i));
        from = i;
        payload = 0;
      }
      payload += size;
    }
    parts.add(rows.subList(from, rows.size()));
    return parts;
  }

  private static void insertPart(Tx tx, Partition partition, List<TaskRow> rows) {
    if (rows.size() < COPIED_FROM) {
      insertInto(tx, partition, rows);
    } else {
      copy(tx, partition, rows);
    }
  }

  private static void insertInto(Tx tx, Partition partition, List<? extends InsertedTask> rows) {
    tx.update(Sql.forPartition(INSERT, partition), columns(rows).toArray());
  }

  private static List<Object> columns(List<? extends InsertedTask> rows) {
    List<Object> columns = new ArrayList<>();
    columns.add(Column.ints(rows, row -> row.tenant().value()));
    columns.add(Column.uuids(rows, row -> row.id().value()));
    columns.add(Column.ints(rows, InsertedTask::laneId));
    columns.add(Column.instants(rows, row -> row.readyAt()));
    columns.add(Column.instants(rows, row -> row.dueAt()));
    columns.add(Column.instants(rows, row -> row.createdAt()));
    columns.add(Column.instants(rows, row -> row.expiresAt()));
    columns.addAll(TaskColumns.texts(rows, InsertedTask::specColumn));
    columns.add(Column.texts(rows, InsertedTask::schedule));
    columns.add(Column.instants(rows, row -> row.fireAt()));
    return columns;
  }

  private static void copy(Tx tx, Partition partition, Iterable<? extends InsertedTask> rows) {
    tx.copy(
        Sql.forPartition(COPY_TASKS, partition),
        copied -> {
          for (InsertedTask row : rows) {
            copied
                .row(1 + COLUMNS.size())
                .add(partition)
                .add(row.tenant().value())
                .add(row.id().value())
                .add(row.laneId())
                .add(row.readyAt())
                .add(row.dueAt())
                .add(row.createdAt())
                .add(row.expiresAt());
            row.addSpec(copied);
            copied.add(row.schedule()).add(row.fireAt());
          }
        });
    tx.copy(
        Sql.forPartition(COPY_QUEUE, partition),
        copied -> {
          for (InsertedTask row : rows) {
            copied
                .row(QUEUE_COLUMNS.size())
                .add(row.readyAt())
                .add(row.expiresAt())
                .add(row.id().value())
                .add(row.laneId())
                .add(partition)
                .add(row.payloadBytes())
                .add(row.specColumn(TaskColumns.CONCURRENCY_KEY));
          }
        });
  }

  /** After the commit. The sweep finds tasks that are due more than a minute later. */
  private void announce(Tx tx, int created, Map<Partition, Map<Integer, Instant>> earliest) {
    tx.afterCommit(
        () -> {
          counters.addCreated(created);
          Instant soon = clock.instant().plus(ANNOUNCED_AHEAD);
          earliest.forEach(
              (partition, lanes) ->
                  lanes.forEach(
                      (lane, at) -> {
                        if (at.isBefore(soon)) {
                          due.onReady(partition, lane, at);
                        }
                      }));
        });
  }

  private static Map<Partition, Map<Integer, Instant>> earliest(
      Map<Partition, List<TaskRow>> byPartition) {
    Map<Partition, Map<Integer, Instant>> earliest = new TreeMap<>();
    byPartition.forEach(
        (partition, rows) -> {
          Map<Integer, Instant> lanes = new TreeMap<>();
          rows.forEach(
              row -> lanes.merge(row.laneId(), row.readyAt(), (a, b) -> a.isBefore(b) ? a : b));
          earliest.put(partition, lanes);
        });
    return earliest;
  }

  // ---- Immediate starts ----

  /**
   * Inserts tasks that are due by the database's clock together with their claim. Tasks that are
   * not get a row in the queue instead: the node's idea of that clock may be ahead. So do tasks
   * that have expired since the request.
   */
  private static final String INSERT_CLAIMED =
      """
      /* TaskInserts.insertClaimed */
      WITH arg AS MATERIALIZED (
          SELECT ?::uuid AS claim, ?::text AS node, clock_timestamp() AS now
      ), task AS (
          INSERT INTO carillon.task_{partition} (partition, %s)
          SELECT DATE '{day}', n.*
          FROM unnest(%s) AS n
          RETURNING tenant, ready_at, expires_at, id, lane, partition, octet_length(payload) AS payload_bytes,
                    concurrency_key,
                    ready_at <= (SELECT now FROM arg) AND (expires_at IS NULL OR expires_at > (SELECT now FROM arg))
                        AS is_claimed
      ), claimed AS (
          INSERT INTO carillon.claim (id, node, leased_by, started_at, partition, tenants, tasks, fences)
          SELECT arg.claim, arg.node, arg.node, arg.now, DATE '{day}', t.tenants, t.tasks, t.fences
          FROM arg
          CROSS JOIN (
              SELECT array_agg(tenant) AS tenants, array_agg(id) AS tasks, array_agg(1) AS fences
              FROM task
              WHERE is_claimed
          ) t
          WHERE t.tasks IS NOT NULL
      ), queued AS (
          INSERT INTO carillon.queue_{partition} (%s)
          SELECT ready_at, expires_at, id, lane, partition, coalesce(payload_bytes, 0), concurrency_key
          FROM task
          WHERE NOT is_claimed
      )
      SELECT task.id, task.is_claimed, arg.now
      FROM arg
      CROSS JOIN task
      """
          .formatted(COLUMNS.names(), COLUMNS.arrays(), QUEUE_COLUMNS.names());

  /** Does {@link #insertOrStart(Tx, List)} in a transaction of its own. */
  void insertOrStart(List<TaskRow> rows) {
    db.inTransaction(
        tx -> {
          insertOrStart(tx, rows);
          return rows.size();
        });
  }

  /** Inserts tasks; those that can start immediately are started after the commit. */
  void insertOrStart(Tx tx, List<TaskRow> rows) {
    List<TaskRow> waiting = new ArrayList<>();
    dueNow(rows, waiting)
        .forEach(
            (partition, lanes) -> {
              claim(tx, partition, lanes);
              lanes.values().forEach(waiting::addAll);
            });
    if (!waiting.isEmpty()) {
      insert(tx, waiting);
    }
  }

  /**
   * Divides the rows into those that may start now, and those that must wait.
   *
   * @param waiting receives the rows that must wait
   */
  private Map<Partition, Map<Lane, List<TaskRow>>> dueNow(
      List<TaskRow> rows, List<TaskRow> waiting) {
    Instant now = clock.instant();
    Map<Partition, Map<Lane, List<TaskRow>>> due = new TreeMap<>();
    long payload = 0;
    for (TaskRow row : rows) {
      int size = Tasks.payloadLength(row.spec().payload());
      if (row.readyAt().isAfter(now)
          || row.spec().concurrencyKey() != null
          || payload + size > STATEMENT_PAYLOAD) {
        waiting.add(row);
      } else {
        payload += size;
        due.computeIfAbsent(row.id().partition(), _ -> new HashMap<>())
            .computeIfAbsent(row.lane(), _ -> new ArrayList<>())
            .add(row);
      }
    }
    return due;
  }

  /** Inserts and removes the rows of those lanes whose tasks can start immediately. */
  private void claim(Tx tx, Partition partition, Map<Lane, List<TaskRow>> lanes) {
    Map<Lane, Integer> sizes = new HashMap<>();
    lanes.forEach((lane, rows) -> sizes.put(lane, rows.size()));
    List<ImmediateClaim> claims = immediateClaims.reserve(sizes);
    claims.forEach(claim -> tx.onFailure(claim::failed));
    for (ImmediateClaim claim : claims) {
      List<TaskRow> rows = new ArrayList<>();
      claim.lanes().forEach(lane -> rows.addAll(lanes.remove(lane)));
      List<ClaimedTask> claimed = insertClaimed(tx, partition, claim, rows);
      tx.afterCommit(() -> start(claim, claimed));
    }
  }

  private List<ClaimedTask> insertClaimed(
      Tx tx, Partition partition, ImmediateClaim claim, List<TaskRow> rows) {
    Map<UUID, TaskRow> byId = new HashMap<>();
    rows.forEach(row -> byId.put(row.id().value(), row));
    List<Object> arguments = new ArrayList<>();
    arguments.add(claim.id());
    arguments.add(claim.node());
    arguments.addAll(columns(rows));
    List<ClaimedTask> claimed = new ArrayList<>();
    List<TaskRow> others = new ArrayList<>();
    tx.query(
        Sql.forPartition(INSERT_CLAIMED, partition),
        result -> {
          TaskRow row = Objects.requireNonNull(byId.get(Sql.uuid(result, "id")));
          return result.getBoolean("is_claimed")
              ? claimed.add(claimed(row, claim, result))
              : others.add(row);
        },
        arguments.toArray());
    announce(tx, rows.size(), earliest(Map.of(partition, others)));
    tx.created(rows);
    tx.claimed(claimed);
    return claimed;
  }

  private ClaimedTask claimed(TaskRow row, ImmediateClaim claim, ResultSet result)
      throws SQLException {
    return row.claimed(
        catalog.type(row.lane()), new Lease(1, claim.id()), Sql.requiredInstant(result, "now"));
  }

  /** The tasks are committed: no failure here may make their creation look failed. */
  private static void start(ImmediateClaim claim, List<ClaimedTask> tasks) {
    try {
      claim.created(tasks);
    } catch (RuntimeException | Error e) {
      log.error("new tasks could not be started claim={}", claim.id(), e);
    }
  }
}
