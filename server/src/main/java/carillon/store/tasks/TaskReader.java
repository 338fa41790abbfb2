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
import org.jspecify.annotations.Nullable;

/** Reads a task, a task with its history, or a page of tasks. */
public final class TaskReader {

  /** The number of attempts and of transitions in a story; older ones are read page by page. */
  private static final int STORY_LENGTH = 100;

  /** All columns that {@link #view} reads but the payload, which lists read on request only. */
  public static final String COLUMNS =
      """
      t.tenant, t.id, t.lane, t.state, t.ready_at, t.due_at, t.created_at, t.version, t.attempt, t.fence, t.leased_by,
      t.lease_until, t.started_at, t.finished_at, t.expires_at, t.cancel_requested, t.status, t.failure, t.schedule,
      t.fire_at, t.output, t.error, t.progress, t.request, t.crashes,
      """
          + TaskColumns.SPEC.without("payload").names('t');

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
      FROM carillon.task t
      WHERE t.tenant = ?
        AND t.id = ?
        AND t.partition = DATE '{day}'
      """
          .formatted(COLUMNS);

  Optional<TaskView> find(TenantId tenant, TaskId id) {
    return db.inTransaction(tx -> find(tx, tenant, id));
  }

  public Optional<TaskView> find(Tx tx, TenantId tenant, TaskId id) {
    return one(tx, FIND, tenant, id);
  }

  private static final String LOCK =
      """
      /* TaskReader.lock */
      SELECT %s, t.payload
      FROM carillon.task t
      WHERE t.tenant = ?
        AND t.id = ?
        AND t.partition = DATE '{day}'
      FOR UPDATE OF t
      """
          .formatted(COLUMNS);

  /**
   * Locks the task until the transaction ends, after any claim in progress has ended, and reads it.
   */
  Optional<TaskView> lock(Tx tx, TenantId tenant, TaskId id) {
    return one(tx, LOCK, tenant, id);
  }

  private Optional<TaskView> one(Tx tx, String statement, TenantId tenant, TaskId id) {
    Partition partition = id.partition();
    return Sql.isThere(tx, statement, partition)
        ? tx.queryOne(Sql.forPartition(statement, partition), this::view, tenant, id)
        : Optional.empty();
  }

  private static final String LIVE_BY_KEY =
      """
      /* TaskReader.liveByKey */
      SELECT %s, t.payload
      FROM carillon.task t
      WHERE t.tenant = ?
        AND t.key = ?
        AND t.lane = ANY (?)
        AND t.state IN ('PENDING', 'RUNNING')
      ORDER BY t.id DESC
      LIMIT 1
      """
          .formatted(COLUMNS);

  Optional<TaskView> liveByKey(Tx tx, TenantId tenant, String type, @Nullable String key) {
    Column lanes = CatalogRows.lanes(tx, tenant, type);
    return tx.queryOne(LIVE_BY_KEY, this::view, tenant, key, lanes);
  }

  private static final String ATTEMPTS =
      """
      /* TaskReader.attempts */
      SELECT attempt, fence, leased_by, started_at, ended_at, outcome, failure, status, error, output, request
      FROM carillon.attempt
      WHERE tenant = ?
        AND task = ?
        AND partition = DATE '{day}'
        AND fence < ?
      ORDER BY fence DESC
      LIMIT ?
      """;

  private static final String TRANSITIONS =
      """
      /* TaskReader.transitions */
      SELECT at, from_state, to_state, fence, who, reason
      FROM carillon.every_transition
      WHERE tenant = ?
        AND task = ?
        AND partition = DATE '{day}'
        AND (fence, at) < (?, ?)
      ORDER BY fence DESC, at DESC
      LIMIT ?
      """;

  Optional<TaskStory> story(TenantId tenant, TaskId id) {
    return db.inTransaction(
        tx ->
            find(tx, tenant, id)
                .map(
                    task -> {
                      var attempts = attempts(tx, tenant, task, STORY_LENGTH, null);
                      var transitions = transitions(tx, tenant, task, STORY_LENGTH, null);
                      return new TaskStory(
                          task,
                          attempts.items().reversed(),
                          attempts.next(),
                          transitions.items().reversed(),
                          transitions.next(),
                          isHeld(tx, task));
                    }));
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
    return db.inTransaction(tx -> attempts(tx, tenant, task, limit, before));
  }

  private static Page<TaskStory.Attempt, Integer> attempts(
      Tx tx, TenantId tenant, TaskView task, int limit, @Nullable Integer before) {
    int end = before == null ? Integer.MAX_VALUE : before;
    TaskId id = task.id();
    List<TaskStory.Attempt> found =
        withLast(
            task,
            end,
            tx.query(
                Sql.forPartition(ATTEMPTS, id.partition()),
                TaskReader::attempt,
                tenant,
                id,
                end,
                limit + 1));
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
    return db.inTransaction(tx -> transitions(tx, tenant, task, limit, before));
  }

  private static Page<TaskStory.Transition, TaskStory.Moment> transitions(
      Tx tx, TenantId tenant, TaskView task, int limit, TaskStory.@Nullable Moment before) {
    TaskStory.Moment end = before == null ? TaskStory.Moment.END : before;
    TaskId id = task.id();
    List<TaskStory.Transition> found =
        tx.query(
            Sql.forPartition(TRANSITIONS, id.partition()),
            TaskReader::transition,
            tenant,
            id,
            end.fence(),
            end.at(),
            limit + 1);
    return found.size() <= limit
        ? new Page<>(found, null)
        : new Page<>(found.subList(0, limit), found.get(limit - 1).moment());
  }

  private static final String BY_KEY =
      """
      /* TaskReader.byKey */
      WITH %s
      SELECT %s, CASE WHEN ?::boolean THEN t.payload END AS payload
      FROM f, carillon.task t
      WHERE t.tenant = ?
        AND t.key = ?
        AND t.id < ?
        AND t.lane = ANY (?)
        AND %s
      ORDER BY t.id DESC
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
                withPayload,
                tenant,
                filter.key(),
                before == null ? PartitionScan.LAST_ID : before,
                CatalogRows.lanes(tx, tenant, filter.type()),
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
