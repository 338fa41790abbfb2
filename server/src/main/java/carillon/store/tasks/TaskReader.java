package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.FailureKind;
import carillon.model.task.Lane;
import carillon.model.task.RetryPolicy;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.CatalogRows;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Reads a task, a task with its history, or a page of tasks. */
public final class TaskReader {

  /** The number of attempts and of transitions in a story; older ones are read page by page. */
  private static final int STORY_LENGTH = 100;

  /**
   * All columns that {@link #view} reads but the payload, which lists read on request only. As in
   * the view every_task: the row of a running task is as it was before its claim.
   */
  public static final String COLUMNS =
      """
      t.tenant, t.id, t.lane, t.state, t.ready_at, t.due_at, t.created_at, t.version, t.attempt, t.fence, t.leased_by,
      t.lease_until, t.started_at, t.finished_at, t.expires_at, t.cancel_requested, t.status, t.failure, t.schedule,
      t.fire_at, t.output, t.error, t.progress, t.request, t.crashes,
      """
          + TaskColumns.SPEC.without("payload").names('t');

  /**
   * {@link #COLUMNS} and the payload, as the view every_task derives them from the row {@code t} of
   * carillon.task and the claim {@code c} that holds the task. The view searches the claims for
   * each task; lists find them otherwise.
   */
  static final String COLUMNS_IN_CLAIM =
      """
      t.tenant, t.id, t.lane,
      CASE WHEN c.id IS NULL THEN t.state ELSE 'RUNNING' END AS state,
      CASE WHEN c.id IS NULL THEN t.ready_at END AS ready_at,
      t.due_at, t.created_at,
      CASE WHEN c.id IS NULL THEN t.version ELSE t.version + 1 END AS version,
      CASE WHEN c.id IS NULL THEN t.attempt ELSE t.attempt + 1 END AS attempt,
      CASE WHEN c.id IS NULL THEN t.fence ELSE t.fence + 1 END AS fence,
      CASE WHEN c.id IS NULL THEN t.leased_by ELSE c.leased_by END AS leased_by,
      CASE WHEN c.id IS NOT NULL THEN coalesce(t.lease_until, c.lease_until) END AS lease_until,
      CASE WHEN c.id IS NULL THEN t.started_at ELSE c.started_at END AS started_at,
      t.finished_at, t.expires_at, t.cancel_requested,
      CASE WHEN c.id IS NULL THEN t.status END AS status,
      CASE WHEN c.id IS NULL THEN t.failure END AS failure,
      t.schedule, t.fire_at,
      CASE WHEN c.id IS NULL THEN t.output END AS output,
      CASE WHEN c.id IS NULL THEN t.error END AS error,
      t.progress,
      CASE WHEN c.id IS NULL THEN t.request END AS request,
      t.crashes,
      """
          + TaskColumns.SPEC.names('t');

  private final Db db;
  private final Catalog catalog;

  public TaskReader(Db db, Catalog catalog) {
    this.db = db;
    this.catalog = catalog;
  }

  private static final String FIND =
      """
      /* TaskReader.find */
      SELECT %s, t.payload
      FROM carillon.every_task_{partition} t
      WHERE t.tenant = ?
        AND t.id = ?
      """
          .formatted(COLUMNS);

  Optional<TaskView> find(TenantId tenant, TaskId id) {
    return unlessDropped(() -> db.inTransaction(tx -> read(tx, tenant, id)));
  }

  /** Fails if the partition was dropped. */
  private Optional<TaskView> read(Tx tx, TenantId tenant, TaskId id) {
    Partition partition = id.partition();
    return Sql.isThere(tx, FIND, partition)
        ? tx.queryOne(Sql.forPartition(FIND, partition), this::view, tenant, id)
        : Optional.empty();
  }

  /** Finds nothing if the partition was dropped. */
  private static <T> Optional<T> unlessDropped(Supplier<Optional<T>> read) {
    return Partitions.unlessDropped(() -> read.get().stream().toList()).stream().findFirst();
  }

  // FIND names the tables of the partition. If another node has dropped them, it fails, and the
  // transaction with it. This statement finds no row then. Otherwise it locks the table of the
  // partition until the transaction ends, so that nobody can drop it.
  private static final String HOLD =
      """
      /* TaskReader.hold */
      SELECT FROM carillon.task t
      WHERE t.tenant = ?
        AND t.id = ?
        AND t.partition = DATE '{day}'
      """;

  public Optional<TaskView> find(Tx tx, TenantId tenant, TaskId id) {
    return isThere(tx, HOLD, tenant, id) ? read(tx, tenant, id) : Optional.empty();
  }

  private static boolean isThere(Tx tx, String statement, TenantId tenant, TaskId id) {
    Partition partition = id.partition();
    return Sql.isThere(tx, statement, partition)
        && !tx.query(Sql.forPartition(statement, partition), _ -> true, tenant, id).isEmpty();
  }

  /** Reads a task that this transaction has found before. */
  TaskView reread(Tx tx, TenantId tenant, TaskId id) {
    return read(tx, tenant, id).orElseThrow();
  }

  private static final String LOCK =
      """
      /* TaskReader.lock */
      SELECT FROM carillon.task t
      WHERE t.tenant = ?
        AND t.id = ?
        AND t.partition = DATE '{day}'
      FOR UPDATE OF t -- waits for the end of an attempt
      """;

  // A statement of its own, so that it sees the row as it was left by the transaction that LOCK has
  // waited for.
  private static final String LOCK_QUEUED =
      """
      /* TaskReader.lockQueued */
      SELECT
      FROM carillon.task_{partition} t
      CROSS JOIN LATERAL (
          SELECT
          FROM carillon.queue_{partition} q
          WHERE q.lane = t.lane
            AND q.ready_at = t.ready_at
            AND q.id = t.id
          FOR UPDATE -- waits for a claim in progress, which leaves no row
      ) q
      WHERE t.tenant = ?
        AND t.id = ?
      """;

  /**
   * Locks the task until the transaction ends, after any claim in progress has ended, and reads it.
   * Until then its state cannot change: nobody can claim it if it waits, and its attempt cannot end
   * if it runs.
   */
  Optional<TaskView> lock(Tx tx, TenantId tenant, TaskId id) {
    if (!isThere(tx, LOCK, tenant, id)) {
      return Optional.empty();
    }
    List<TaskView> found = new ArrayList<>(1);
    tx.queryTogether(
        Tx.Query.of(Sql.forPartition(LOCK_QUEUED, id.partition()), _ -> {}, tenant, id),
        Tx.Query.of(
            Sql.forPartition(FIND, id.partition()), row -> found.add(view(row)), tenant, id));
    return Optional.of(found.getFirst());
  }

  private static final String LIVE_BY_KEY =
      """
      /* TaskReader.liveByKey */
      WITH live AS MATERIALIZED ( -- otherwise the planner may read all tasks in the order of their ids
          SELECT t.id
          FROM carillon.task t
          WHERE t.tenant = ?
            AND t.key = ?
            AND t.lane = ANY (?)
            AND t.state = 'PENDING' -- waiting or running
      )
      SELECT id
      FROM live
      ORDER BY id DESC
      LIMIT 1
      """;

  Optional<TaskView> liveByKey(Tx tx, TenantId tenant, String type, @Nullable String key) {
    Column lanes = CatalogRows.lanes(tx, tenant, type);
    return tx.queryOne(LIVE_BY_KEY, row -> new TaskId(Sql.uuid(row, "id")), tenant, key, lanes)
        .map(id -> reread(tx, tenant, id));
  }

  private static final String ATTEMPTS =
      """
      /* TaskReader.attempts */
      SELECT attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error, output, request
      FROM carillon.attempt_{partition}
      WHERE tenant = ?
        AND task = ?
        AND fence < ?
      ORDER BY fence DESC
      LIMIT ?
      """;

  private static final String TRANSITIONS =
      """
      /* TaskReader.transitions */
      SELECT at, from_state, to_state, fence, who, reason
      FROM carillon.every_transition_{partition}
      WHERE tenant = ?
        AND task = ?
        AND (fence, at) < (?, ?)
      ORDER BY fence DESC, at DESC
      LIMIT ?
      """;

  Optional<TaskStory> story(TenantId tenant, TaskId id) {
    return unlessDropped(() -> db.inSnapshot(tx -> story(tx, tenant, id)));
  }

  private Optional<TaskStory> story(Tx tx, TenantId tenant, TaskId id) {
    Partition partition = id.partition();
    if (!Sql.isThere(tx, FIND, partition)) {
      return Optional.empty();
    }
    List<TaskView> found = new ArrayList<>(1);
    List<TaskStory.Attempt> ended = new ArrayList<>();
    List<TaskStory.Transition> transitions = new ArrayList<>();
    tx.queryTogether(
        Tx.Query.of(Sql.forPartition(FIND, partition), row -> found.add(view(row)), tenant, id),
        readAttempts(tenant, id, Integer.MAX_VALUE, STORY_LENGTH, ended),
        readTransitions(tenant, id, TaskStory.Moment.END, STORY_LENGTH, transitions));
    if (found.isEmpty()) {
      return Optional.empty();
    }
    TaskView task = found.getFirst();
    var latestAttempts = pageOfAttempts(withLast(task, Integer.MAX_VALUE, ended), STORY_LENGTH);
    var latestTransitions = pageOfTransitions(transitions, STORY_LENGTH);
    return Optional.of(
        new TaskStory(
            task,
            latestAttempts.items().reversed(),
            latestAttempts.next(),
            latestTransitions.items().reversed(),
            latestTransitions.next(),
            isHeld(tx, task)));
  }

  // A node marks a suspect before it starts it.
  private static final String HAS_BEGUN =
      """
      /* TaskReader.hasBegun */
      SELECT ? = ANY (suspects) AS has_begun
      FROM carillon.node
      WHERE id = ?
      """;

  /** Whether a node has claimed this suspect but not started it. */
  private boolean isHeld(Tx tx, TaskView task) {
    return task.state() == TaskState.RUNNING
        && task.crashes() > 0
        && catalog.isSentNow(task.lane().id())
        && tx.queryOne(HAS_BEGUN, row -> !row.getBoolean("has_begun"), task.id(), task.leasedBy())
            .orElse(false);
  }

  /** Newest first; {@code before} is the last fence of the previous page. */
  Page<TaskStory.Attempt, Integer> attempts(
      TenantId tenant, TaskView task, int limit, @Nullable Integer before) {
    return unlessDropped(
            () -> Optional.of(db.inTransaction(tx -> attempts(tx, tenant, task, limit, before))))
        .orElseGet(() -> new Page<>(List.of(), null));
  }

  private static Page<TaskStory.Attempt, Integer> attempts(
      Tx tx, TenantId tenant, TaskView task, int limit, @Nullable Integer before) {
    int end = before == null ? Integer.MAX_VALUE : before;
    List<TaskStory.Attempt> ended = new ArrayList<>();
    tx.queryTogether(readAttempts(tenant, task.id(), end, limit, ended));
    return pageOfAttempts(withLast(task, end, ended), limit);
  }

  private static Tx.Query readAttempts(
      TenantId tenant, TaskId id, int end, int limit, List<TaskStory.Attempt> found) {
    return Tx.Query.of(
        Sql.forPartition(ATTEMPTS, id.partition()),
        row -> found.add(attempt(row)),
        tenant,
        id,
        end,
        limit + 1);
  }

  private static Page<TaskStory.Attempt, Integer> pageOfAttempts(
      List<TaskStory.Attempt> found, int limit) {
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), found.get(limit - 1).fence());
  }

  /** Adds the last attempt, which is stored in the task's row unless the task waits again. */
  private static List<TaskStory.Attempt> withLast(
      TaskView task, int end, List<TaskStory.Attempt> ended) {
    boolean isOver = !ended.isEmpty() && ended.getFirst().fence() >= task.fence();
    if (task.fence() == 0 || task.fence() >= end || isOver) {
      return ended;
    }
    List<TaskStory.Attempt> all = new ArrayList<>(ended);
    all.addFirst(
        new TaskStory.Attempt(
            task.attempt(),
            task.fence(),
            task.leasedBy(),
            task.startedAt(),
            task.finishedAt(),
            task.state().name(),
            task.last()));
    return all;
  }

  /** Newest first; {@code before} is the last moment of the previous page. */
  Page<TaskStory.Transition, TaskStory.Moment> transitions(
      TenantId tenant, TaskView task, int limit, TaskStory.@Nullable Moment before) {
    return unlessDropped(
            () -> Optional.of(db.inTransaction(tx -> transitions(tx, tenant, task, limit, before))))
        .orElseGet(() -> new Page<>(List.of(), null));
  }

  private static Page<TaskStory.Transition, TaskStory.Moment> transitions(
      Tx tx, TenantId tenant, TaskView task, int limit, TaskStory.@Nullable Moment before) {
    TaskStory.Moment end = before == null ? TaskStory.Moment.END : before;
    List<TaskStory.Transition> found = new ArrayList<>();
    tx.queryTogether(readTransitions(tenant, task.id(), end, limit, found));
    return pageOfTransitions(found, limit);
  }

  private static Tx.Query readTransitions(
      TenantId tenant,
      TaskId id,
      TaskStory.Moment end,
      int limit,
      List<TaskStory.Transition> found) {
    return Tx.Query.of(
        Sql.forPartition(TRANSITIONS, id.partition()),
        row -> found.add(transition(row)),
        tenant,
        id,
        end.fence(),
        end.at(),
        limit + 1);
  }

  private static Page<TaskStory.Transition, TaskStory.Moment> pageOfTransitions(
      List<TaskStory.Transition> found, int limit) {
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), found.get(limit - 1).moment());
  }

  private static final String BY_KEY =
      """
      /* TaskReader.byKey */
      WITH %s, keyed AS MATERIALIZED ( -- otherwise the planner may read all tasks in the order of their ids
          SELECT t.id, t.partition
          FROM carillon.task t
          WHERE t.tenant = ?
            AND t.key = ?
            AND t.id < ?
            AND t.lane = ANY (?)
      )
      SELECT %s, CASE WHEN ?::boolean THEN t.payload END AS payload
      FROM f, (SELECT * FROM keyed ORDER BY id DESC) k
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.every_task t
          WHERE t.tenant = ?
            AND t.id = k.id
            AND t.partition = k.partition
          LIMIT 1
      ) t
      WHERE %s
      ORDER BY k.id DESC
      LIMIT ?
      """
          .formatted(FilterSql.CTE, COLUMNS, FilterSql.MATCHES);

  Page<TaskView, TaskId> list(
      TenantId tenant, TaskFilter filter, int limit, @Nullable TaskId before, boolean withPayload) {
    return filter.key() == null
        ? Partitions.whileTheyChange(
            () ->
                db.inTransaction(
                    tx ->
                        new PartitionScan(tx, this, tenant, filter, withPayload, System::nanoTime)
                            .page(limit, before)))
        : db.inTransaction(tx -> pageByKey(tx, tenant, filter, limit, before, withPayload));
  }

  private Page<TaskView, TaskId> pageByKey(
      Tx tx,
      TenantId tenant,
      TaskFilter filter,
      int limit,
      @Nullable TaskId before,
      boolean withPayload) {
    List<TaskView> found =
        tx.query(
            BY_KEY,
            this::view,
            FilterSql.arguments(
                filter,
                tenant,
                filter.key(),
                before == null ? PartitionScan.LAST_ID : before,
                CatalogRows.lanes(tx, tenant, filter.type()),
                withPayload,
                tenant,
                limit + 1));
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), found.get(limit - 1).id());
  }

  public TaskView view(ResultSet row) throws SQLException {
    Lane lane = catalog.lane(row.getInt("lane"));
    TenantId tenant = new TenantId(row.getInt("tenant"));
    TaskSpec spec = TaskColumns.read(lane.type(), row);
    RetryPolicy retry =
        spec.retry() == null ? catalog.type(tenant, lane.type()).retry() : spec.retry();
    return new TaskView(
        catalog.tenant(tenant).name(),
        new TaskId(Sql.uuid(row, "id")),
        lane,
        spec,
        TaskState.valueOf(row.getString("state")),
        Sql.requiredInstant(row, "due_at"),
        Sql.instant(row, "ready_at"),
        Sql.requiredInstant(row, "created_at"),
        Sql.instant(row, "started_at"),
        Sql.instant(row, "finished_at"),
        Sql.instant(row, "expires_at"),
        row.getInt("attempt"),
        retry.maxAttempts(),
        row.getInt("fence"),
        row.getInt("version"),
        row.getBoolean("cancel_requested"),
        row.getString("leased_by"),
        Sql.instant(row, "lease_until"),
        row.getString("schedule"),
        Sql.instant(row, "fire_at"),
        result(row),
        row.getString("progress"),
        row.getInt("crashes"));
  }

  private static AttemptResult result(ResultSet row) throws SQLException {
    String failure = row.getString("failure");
    return new AttemptResult(
        failure == null ? null : FailureKind.valueOf(failure),
        Sql.integer(row, "status"),
        row.getString("error"),
        row.getString("output"),
        row.getString("request"));
  }

  public static TaskStory.Attempt attempt(ResultSet row) throws SQLException {
    return new TaskStory.Attempt(
        row.getInt("attempt"),
        row.getInt("fence"),
        row.getString("leased_by"),
        Sql.instant(row, "started_at"),
        Sql.instant(row, "ended_at"),
        row.getString("outcome"),
        result(row));
  }

  public static TaskStory.Transition transition(ResultSet row) throws SQLException {
    return new TaskStory.Transition(
        Sql.requiredInstant(row, "at"),
        TaskState.valueOf(row.getString("from_state")),
        TaskState.valueOf(row.getString("to_state")),
        row.getInt("fence"),
        row.getString("who"),
        row.getString("reason"));
  }
}
