package carillon.store.tasks;

import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.DayRange;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.Route;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.catalog.BatchLanes;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Combiner;
import carillon.store.db.Db;
import carillon.store.db.DbClock;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** Creates, reads and changes the tasks of a tenant. */
public final class Tasks {

  /** Approximate payload per transaction when Carillon itself creates many tasks. */
  public static final int MAX_PAYLOAD = 16 << 20;

  private final Catalog catalog;
  private final Partitions partitions;
  private final DbClock clock;
  private final TaskReader reader;
  private final RunningTasks running;
  private final TaskChanges changes;
  private final MatchingTasks matching;
  private final Combiner<TaskRow> combiner;
  private final TaskInserts inserts;
  private final Bursts bursts = new Bursts();

  public Tasks(
      Db db,
      Catalog catalog,
      Partitions partitions,
      DbClock clock,
      DueListener due,
      Counters counters) {
    this.catalog = catalog;
    this.partitions = partitions;
    this.clock = clock;
    this.inserts = new TaskInserts(db, catalog, clock, due, counters);
    this.reader = new TaskReader(db, catalog);
    this.running = new RunningTasks(db, reader);
    this.changes = new TaskChanges(reader, catalog, clock, due);
    this.matching = new MatchingTasks(clock, due);
    this.combiner = new Combiner<>(TaskInserts.MAX_ROWS, inserts::insertOrStart);
  }

  /** From now on, tasks that are due when they are created may start immediately. */
  public void claimImmediately(TaskInserts.ImmediateClaims immediateClaims) {
    inserts.claimImmediately(immediateClaims);
  }

  /**
   * Creates a task in one transaction with others that are being created concurrently; returns once
   * it is committed.
   */
  public CreateResult create(TenantId tenant, NewTask task) {
    if (isUnknownType(tenant, task.type())) {
      return new CreateResult.UnknownType(task.type());
    }
    Lane lane = lane(tenant, task);
    TaskRow row = row(lane, task, now());
    combiner.write(row);
    return new CreateResult.Created(view(row));
  }

  /**
   * Creates a task in the caller's transaction, which a unique task and an idempotent request need.
   */
  public CreateResult create(Tx tx, TenantId tenant, NewTask task) {
    if (isUnknownType(tenant, task.type())) {
      return new CreateResult.UnknownType(task.type());
    }
    Lane lane = lane(tenant, task);
    TaskRow row = row(lane, task, now());
    Optional<TaskView> existing =
        task.uniqueFor() == null ? Optional.empty() : existing(tx, row, task.uniqueFor());
    if (existing.isPresent()) {
      return new CreateResult.Existing(existing.get());
    }
    inserts.insertOrStart(tx, List.of(row));
    return new CreateResult.Created(view(row));
  }

  /** The result of a request to create a task. */
  public sealed interface CreateResult {

    record Created(TaskView task) implements CreateResult {}

    /** The request was for a unique task, and one with the same type and key exists. */
    record Existing(TaskView task) implements CreateResult {}

    /** The tenant is strict and does not have this type. */
    record UnknownType(String type) implements CreateResult {}
  }

  /** The result of creating a batch. */
  public sealed interface BatchResult {
    record Created(List<TaskId> ids) implements BatchResult {}

    /** The tenant is strict and has no such type. */
    record UnknownType(int index, String type) implements BatchResult {}
  }

  /** Creates all tasks or none, as {@link #createAll(Tx, TenantId, PackedTasks)} does. */
  public BatchResult createAll(Tx tx, TenantId tenant, List<NewTask> tasks) {
    try (PackedTasks packed = new PackedTasks(SpillBuffer.Budget.unbounded())) {
      tasks.forEach(packed::add);
      return createAll(tx, tenant, packed);
    }
  }

  /**
   * Creates all tasks or none; the ids are in the order of the tasks. None of them may be unique.
   */
  public BatchResult createAll(Tx tx, TenantId tenant, PackedTasks tasks) {
    if (catalog.tenant(tenant).strict()) {
      PackedTasks.Cursor task = tasks.cursor();
      while (task.next()) {
        if (isUnknownType(tenant, task.type())) {
          return new BatchResult.UnknownType(task.index(), task.type());
        }
      }
    }
    // Before the due times are set: creating a lane takes a while and would make all tasks late.
    int[] lanes = lanes(tenant, tasks);
    PackedRows rows = new PackedRows(tenant, tasks, lanes, now(), bursts);
    rows.days().forEach(partitions::ensure);
    inserts.insert(tx, rows);
    return new BatchResult.Created(rows.ids());
  }

  private int[] lanes(TenantId tenant, PackedTasks tasks) {
    BatchLanes wanted = catalog.lanesFor(tenant, tasks.size());
    PackedTasks.Cursor task = tasks.cursor();
    boolean isOnlySlice = false;
    while (task.next()) {
      if (isOnlySlice && task.isSameLane()) {
        wanted.wantSame(task.index());
      } else {
        TaskType type = catalog.type(tenant, task.type());
        Integer priority = task.priority();
        Integer hash = task.keyHash();
        wanted.want(
            task.index(),
            task.type(),
            priority == null ? type.priority() : priority,
            Math.floorMod(
                hash == null ? ThreadLocalRandom.current().nextInt() : hash, type.slices()),
            task.route());
        isOnlySlice = type.slices() == 1;
      }
    }
    wanted.create(true);
    int[] lanes = new int[tasks.size()];
    Arrays.setAll(lanes, i -> wanted.lane(i).id());
    return lanes;
  }

  /**
   * Creates Carillon's own tasks (callbacks, alerts), even if a strict tenant has no such type. The
   * caller must not have changed a type in this transaction, because a new lane is created in a
   * separate one.
   */
  public List<TaskId> createOwn(Tx tx, TenantId tenant, List<NewTask> tasks) {
    // Before the due times are set: creating a lane takes a while and would make all tasks late.
    BatchLanes lanes = catalog.lanesFor(tenant, tasks.size());
    for (int i = 0; i < tasks.size(); i++) {
      NewTask task = tasks.get(i);
      Wanted lane = wanted(tenant, task, ThreadLocalRandom.current().nextInt());
      lanes.want(i, task.type(), lane.priority(), lane.slice(), lane.route());
    }
    lanes.create(false);
    Instant now = now();
    List<TaskRow> rows = new ArrayList<>(tasks.size());
    for (int i = 0; i < tasks.size(); i++) {
      rows.add(row(lanes.lane(i), tasks.get(i), now));
    }
    inserts.insert(tx, rows);
    return rows.stream().map(TaskRow::id).toList();
  }

  /**
   * A task to be created by a schedule.
   *
   * @param id chosen by the planner, so that the same fire is the same task; its time is the task's
   *     due time
   * @param fireAt the nominal time
   */
  public record Fired(TenantId tenant, TaskId id, String schedule, Instant fireAt, NewTask task) {}

  /**
   * Creates the tasks of fires, of any tenants. Unlike other new tasks they may be due in the past,
   * so that their start delay counts from then.
   */
  public void createFired(Tx tx, List<Fired> fires) {
    Instant now = now();
    List<TaskRow> rows = new ArrayList<>(fires.size());
    for (Fired fire : fires) {
      Instant dueAt = fire.task().dueAt() == null ? now : fire.task().dueAt();
      partitions.ensure(fire.id().partition());
      Wanted wanted = wanted(fire.tenant(), fire.task(), fire.id());
      Lane lane =
          catalog.ownLaneFor(
              fire.tenant(), fire.task().type(), wanted.priority(), wanted.slice(), wanted.route());
      rows.add(
          row(lane, fire.id(), fire.task(), dueAt, bursts.next(dueAt), now)
              .firedBy(fire.schedule(), fire.fireAt()));
    }
    inserts.insert(tx, rows);
  }

  /** The length of a payload in characters, which is known without encoding it. */
  public static int payloadLength(@Nullable String payload) {
    return payload == null ? 0 : payload.length();
  }

  public boolean isUnknownType(TenantId tenant, String type) {
    if (!catalog.tenant(tenant).strict() || catalog.isKnownType(tenant, type)) {
      return false;
    }
    catalog.refresh(); // another node may just have created it
    return !catalog.isKnownType(tenant, type);
  }

  private Instant now() {
    return clock.instant().truncatedTo(ChronoUnit.MICROS);
  }

  private Lane lane(TenantId tenant, NewTask task) {
    Wanted lane = wanted(tenant, task, ThreadLocalRandom.current().nextInt());
    return catalog.laneFor(tenant, task.type(), lane.priority(), lane.slice(), lane.route());
  }

  /**
   * Creates the type and a lane for later tasks, unless they exist.
   *
   * @throws carillon.store.catalog.LimitReached if the tenant has reached its limit
   */
  public void prepare(TenantId tenant, NewTask task) {
    if (!catalog.isKnownType(tenant, task.type())) {
      lane(tenant, task);
    }
  }

  /** The properties of a lane that a task determines in addition to its type. */
  private record Wanted(int priority, int slice, Route route) {}

  /**
   * @param other determines the slice of a task without a key
   */
  private Wanted wanted(TenantId tenant, NewTask task, Object other) {
    TaskType type = catalog.type(tenant, task.type());
    TaskSpec spec = task.spec();
    Object sliceBy = spec.key() == null ? other : spec.key();
    return new Wanted(
        task.priority() == null ? type.priority() : task.priority(),
        Math.floorMod(sliceBy.hashCode(), type.slices()),
        spec.target() == null ? Route.TYPE : Route.of(spec.target()));
  }

  /** Creates the partition of a new task if it does not exist, and returns the row. */
  private TaskRow row(Lane lane, NewTask task, Instant now) {
    Instant dueAt = dueAt(task, now);
    DayRange days = DayRange.of(dueAt, now);
    partitions.ensure(days);
    int offset = bursts.next(dueAt);
    TaskId id = TaskId.at(days.idTime(dueAt), offset, ThreadLocalRandom.current());
    return row(lane, id, task, dueAt, offset, now);
  }

  /**
   * @param offset microseconds by which it becomes ready after it is due, which spreads a burst
   */
  private static TaskRow row(
      Lane lane, TaskId id, NewTask task, Instant dueAt, int offset, Instant now) {
    return new TaskRow(
        id,
        lane,
        task.spec(),
        dueAt.plus(offset, ChronoUnit.MICROS),
        dueAt,
        now,
        expiresAt(task, dueAt),
        null,
        null);
  }

  private static Instant dueAt(NewTask task, Instant now) {
    Instant asked = task.delay() == null ? task.dueAt() : now.plus(task.delay());
    return asked == null || asked.isBefore(now) ? now : asked.truncatedTo(ChronoUnit.MICROS);
  }

  private static @Nullable Instant expiresAt(NewTask task, Instant dueAt) {
    return task.ttl() == null ? task.expiresAt() : dueAt.plus(task.ttl());
  }

  private TaskView view(TaskRow row) {
    return row.view(
        catalog.tenant(row.tenant()).name(), catalog.type(row.tenant(), row.spec().type()));
  }

  private static final String HOLD_KEY =
      """
      /* Tasks.holdKey */
      INSERT INTO carillon.unique_task (tenant, type, key, task, held_until)
      VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (tenant, type, key) DO UPDATE -- for its row lock: one request at a time decides for a key
      SET held_until = greatest(unique_task.held_until, excluded.held_until)
      RETURNING task
      """;

  private static final String TRANSFER_KEY =
      """
      /* Tasks.transferKey */
      UPDATE carillon.unique_task
      SET task = ?
      WHERE tenant = ?
        AND type = ?
        AND key = ?
      """;

  /**
   * Finds the existing task that a unique task would duplicate. If there is none, the new task
   * takes over the key.
   */
  private Optional<TaskView> existing(Tx tx, TaskRow row, Duration window) {
    TenantId tenant = row.tenant();
    String type = row.spec().type();
    String key = row.spec().key();
    TaskId holder =
        new TaskId(
            tx.query(
                    HOLD_KEY,
                    r -> Sql.uuid(r, "task"),
                    tenant,
                    type,
                    key,
                    row.id(),
                    row.createdAt().plus(window))
                .getFirst());
    Optional<TaskView> recent =
        holder.equals(row.id())
            ? Optional.empty()
            : reader
                .find(tx, tenant, holder)
                .filter(held -> held.createdAt().plus(window).isAfter(row.createdAt()));
    Optional<TaskView> existing =
        recent.isPresent() ? recent : reader.liveByKey(tx, tenant, type, key);
    if (existing.isEmpty() && !holder.equals(row.id())) {
      tx.update(TRANSFER_KEY, row.id(), tenant, type, key);
    }
    return existing;
  }

  public Optional<TaskView> find(TenantId tenant, TaskId id) {
    return reader.find(tenant, id);
  }

  public Optional<TaskStory> story(TenantId tenant, TaskId id) {
    return reader.story(tenant, id);
  }

  /**
   * All attempts of a task, newest first; {@code before} is the last fence of the previous page.
   */
  public Page<TaskStory.Attempt, Integer> attempts(
      TenantId tenant, TaskView task, int limit, @Nullable Integer before) {
    return reader.attempts(tenant, task, limit, before);
  }

  /** All transitions of a task, newest first, without its creation. */
  public Page<TaskStory.Transition, TaskStory.Moment> transitions(
      TenantId tenant, TaskView task, int limit, TaskStory.@Nullable Moment before) {
    return reader.transitions(tenant, task, limit, before);
  }

  /** Lists tasks, latest due time first; {@code before} is the last id of the previous page. */
  public Page<TaskView, TaskId> list(
      TenantId tenant, TaskFilter filter, int limit, @Nullable TaskId before, boolean withPayload) {
    // Few tasks share a key, so the index on the key is faster than going through the claims.
    return filter.state() == TaskState.RUNNING && filter.key() == null
        ? running.list(tenant, filter, limit, before, withPayload)
        : reader.list(tenant, filter, limit, before, withPayload);
  }

  /**
   * Cancels a task. Returns {@code Changed} if it is now CANCELLED, {@code Unchanged} if it already
   * was, {@code Requested} if it is RUNNING, and {@code WrongState} if it has ended otherwise.
   */
  public ChangeResult cancel(
      Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return changes.cancel(tx, tenant, id, who, ifVersion);
  }

  /** Tasks per bulk change, which is one transaction: more would hold its locks for too long. */
  public static final int MAX_AT_ONCE = 50_000;

  /**
   * Cancels waiting tasks that match, and requests cancellation of running ones; at most about
   * {@link #MAX_AT_ONCE} per call.
   *
   * @param from where the previous call ended
   */
  public BulkResult cancelMatching(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    return matching.cancel(tx, tenant, filter, from, who);
  }

  /**
   * The number of tasks that match.
   *
   * @param isAtLeast whether there may be more: a count reads a limited number of rows
   */
  public record Count(long matched, boolean isAtLeast) {}

  /** The number of tasks that {@link #cancelMatching}, repeated, would cancel. */
  public Count countCancellable(Tx tx, TenantId tenant, TaskFilter filter) {
    return matching.countCancellable(tx, tenant, filter);
  }

  /** The number of tasks that {@link #runMatching}, repeated, would make due. */
  public Count countRunnable(Tx tx, TenantId tenant, TaskFilter filter) {
    return matching.countRunnable(tx, tenant, filter);
  }

  /**
   * Makes matching tasks that wait for their due time due now; at most about {@link #MAX_AT_ONCE}
   * per call.
   *
   * @param from where the previous call ended
   */
  public BulkResult runMatching(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    return matching.run(tx, tenant, filter, from, who);
  }

  /** Makes a waiting task due now. */
  public ChangeResult runNow(
      Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return changes.runNow(tx, tenant, id, who, ifVersion);
  }

  /** Makes a dead task PENDING again with all its attempts left; its history stays. */
  public ChangeResult redrive(
      Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return changes.redrive(tx, tenant, id, who, ifVersion);
  }

  /** Changes a waiting or dead task. */
  public ChangeResult patch(
      Tx tx, TenantId tenant, TaskId id, TaskPatch patch, String who, @Nullable Integer ifVersion) {
    return changes.patch(tx, tenant, id, patch, who, ifVersion);
  }
}
