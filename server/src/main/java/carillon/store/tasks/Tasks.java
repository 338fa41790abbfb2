package carillon.store.tasks;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.DayRange;
import carillon.model.task.Lane;
import carillon.model.task.NewTask;
import carillon.model.task.Route;
import carillon.model.task.TaskState;
import carillon.model.task.TaskType;
import carillon.store.catalog.BatchLanes;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
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
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** The tasks of one tenant at a time: created, looked up, changed by people and programs. */
public final class Tasks {

  /** As large as an insert gets; a batch of 100,000 is many of these in one transaction. */
  private static final int INSERT_BATCH = 2_000;

  /** About so much payload is made in one transaction by those who make tasks by themselves. */
  public static final int MOST_PAYLOAD = 16 << 20;

  /** About so much payload goes into one statement, which is in memory several times over. */
  private static final int STATEMENT_PAYLOAD = 4 << 20;

  /** From so many rows on, what COPY saves is more than its two further round trips cost. */
  private static final int COPIED_FROM = 500;

  /** From this many bytes on, however few rows they are: COPY holds one row, INSERT holds all. */
  private static final int COPIED_FROM_BYTES = 1 << 20;

  /** One COPY has this many rows at most, so that it ends before statement_timeout. */
  private static final int COPY_BATCH = 10_000;

  private static final Duration NOTED_AHEAD = Duration.ofMinutes(1);

  private final Catalog catalog;
  private final Partitions partitions;
  private final DbClock clock;
  private final DueListener due;
  private final TaskReader reader;
  private final RunningTasks running;
  private final TaskChanges changes;
  private final MatchingTasks matching;
  private final Combiner<TaskRow> combiner;
  private final Bursts bursts = new Bursts();
  private final Counters counters;

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
    this.due = due;
    this.counters = counters;
    this.reader = new TaskReader(db, catalog);
    this.running = new RunningTasks(db, reader);
    this.changes = new TaskChanges(reader, catalog, clock, due);
    this.matching = new MatchingTasks(clock, due);
    this.combiner =
        new Combiner<>(
            INSERT_BATCH,
            rows ->
                db.inTransaction(
                    tx -> {
                      insertAll(tx, rows);
                      return rows.size();
                    }));
  }

  /**
   * Creates a task together with whatever else is being created at the moment; returns when it is
   * committed.
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
   * Creates a task in a transaction of the caller's; needed where it is unique or the answer is
   * kept for repeats.
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
    insert(tx, List.of(row));
    return new CreateResult.Created(view(row));
  }

  /** What became of a batch. */
  public sealed interface BatchResult {
    record Created(List<TaskId> ids) implements BatchResult {}

    /** The tenant is strict and has no such type. */
    record UnknownType(int index, String type) implements BatchResult {}
  }

  /** Creates all of them or none, as {@link #createAll(Tx, TenantId, PackedTasks)} does. */
  public BatchResult createAll(Tx tx, TenantId tenant, List<NewTask> tasks) {
    try (PackedTasks packed = new PackedTasks(SpillBuffer.Room.unbounded())) {
      tasks.forEach(packed::add);
      return createAll(tx, tenant, packed);
    }
  }

  /**
   * Creates all of them or none; the ids come in the order given. A task asked for as unique is not
   * allowed here.
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
    // Before they are due: a lane that is new takes a while, and would make all of them late.
    int[] lanes = lanes(tenant, tasks);
    PackedRows rows = new PackedRows(tenant, tasks, lanes, now(), bursts);
    rows.days().forEach(partitions::ensure);
    insert(tx, rows);
    return new BatchResult.Created(rows.ids());
  }

  private int[] lanes(TenantId tenant, PackedTasks tasks) {
    BatchLanes wanted = catalog.lanesFor(tenant, tasks.size());
    PackedTasks.Cursor task = tasks.cursor();
    boolean isForAll = false; // whether the lane has no slices to choose from
    while (task.next()) {
      if (isForAll && task.isSameLane()) {
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
        isForAll = type.slices() == 1;
      }
    }
    wanted.create(true);
    int[] lanes = new int[tasks.size()];
    Arrays.setAll(lanes, i -> wanted.lane(i).id());
    return lanes;
  }

  private void insert(Tx tx, PackedRows rows) {
    rows.byPartition()
        .forEach(
            (partition, indexes) -> {
              if (indexes.length < COPIED_FROM && rows.bytes(indexes) < COPIED_FROM_BYTES) {
                insert(tx, partition, rows.copies(indexes));
              } else {
                for (int from = 0; from < indexes.length; from += COPY_BATCH) {
                  int to = Math.min(indexes.length, from + COPY_BATCH);
                  copy(tx, partition, rows.rows(Arrays.copyOfRange(indexes, from, to)));
                }
              }
            });
    tx.afterCommit(
        () -> {
          counters.addCreated(rows.ids().size());
          rows.earliest()
              .forEach(
                  (partition, lanes) -> lanes.forEach((lane, at) -> note(partition, lane, at)));
        });
    tx.created(rows.created());
  }

  /**
   * Creates tasks that nobody sent in, also of types that a strict tenant does not know. The caller
   * must not have changed a type in this transaction: a lane that is new is made beside it.
   */
  public List<TaskId> createOwn(Tx tx, TenantId tenant, List<NewTask> tasks) {
    // Before they are due: a lane that is new takes a while, and would make all of them late.
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
    insertAll(tx, rows);
    return rows.stream().map(TaskRow::id).toList();
  }

  /**
   * A task that a schedule makes.
   *
   * @param id decided by who plans it, so that the same fire is the same task; its time is the
   *     task's due time
   * @param fireAt the nominal time
   */
  public record Fired(TenantId tenant, TaskId id, String schedule, Instant fireAt, NewTask task) {}

  /**
   * Creates the tasks of fires, of any tenants. Unlike others they may be due in the past, which is
   * then how late they are.
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
    insertAll(tx, rows);
  }

  private void insertAll(Tx tx, List<TaskRow> rows) {
    int from = 0;
    long payload = 0;
    for (int i = 0; i < rows.size(); i++) {
      int size = payload(rows.get(i).asked().payload());
      if (i > from && (i - from == INSERT_BATCH || payload + size > STATEMENT_PAYLOAD)) {
        insert(tx, rows.subList(from, i));
        from = i;
        payload = 0;
      }
      payload += size;
    }
    insert(tx, rows.subList(from, rows.size()));
  }

  /** In characters, which are counted already. */
  public static int payload(@Nullable String payload) {
    return payload == null ? 0 : payload.length();
  }

  public boolean isUnknownType(TenantId tenant, String type) {
    if (!catalog.tenant(tenant).strict() || catalog.isKnownType(tenant, type)) {
      return false;
    }
    catalog.refresh(); // another node may just have been told of it
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
   * Makes the type and a lane for tasks that come later, unless they are there.
   *
   * @throws carillon.store.catalog.LimitReached if the tenant has as many as it may have
   */
  public void prepare(TenantId tenant, NewTask task) {
    if (!catalog.isKnownType(tenant, task.type())) {
      lane(tenant, task);
    }
  }

  /** What of a lane a task decides on, besides its type. */
  private record Wanted(int priority, int slice, Route route) {}

  /**
   * @param other what decides on the slice of a task that has no key
   */
  private Wanted wanted(TenantId tenant, NewTask task, Object other) {
    TaskType type = catalog.type(tenant, task.type());
    Object sliceBy = task.key() == null ? other : task.key();
    return new Wanted(
        task.priority() == null ? type.priority() : task.priority(),
        Math.floorMod(sliceBy.hashCode(), type.slices()),
        task.target() == null ? Route.TYPE : Route.of(task.target()));
  }

  /** The row of a new task, once there is a partition for it. */
  private TaskRow row(Lane lane, NewTask task, Instant now) {
    Instant dueAt = dueAt(task, now);
    DayRange days = DayRange.of(dueAt, now);
    partitions.ensure(days);
    int place = bursts.next(dueAt);
    TaskId id = TaskId.at(days.idTime(dueAt), place, ThreadLocalRandom.current());
    return row(lane, id, task, dueAt, place, now);
  }

  /**
   * @param place by which it is claimed later than it is due, in microseconds
   */
  private static TaskRow row(
      Lane lane, TaskId id, NewTask task, Instant dueAt, int place, Instant now) {
    return new TaskRow(
        lane.tenant(),
        id,
        lane.id(),
        lane.priority(),
        dueAt.plus(place, ChronoUnit.MICROS),
        dueAt,
        now,
        expiresAt(task, dueAt),
        task,
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
        catalog.tenant(row.tenant()).name(), catalog.type(row.tenant(), row.asked().type()));
  }

  private static final String INSERT =
      """
      /* Tasks.insert */
      INSERT INTO carillon.task_{partition} (
          tenant, id, partition, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload,
          target, retry, metadata, on_complete, on_dead, schedule, fire_at)
      SELECT tenant, id, ?, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload,
             target::jsonb, retry::jsonb, metadata::jsonb, on_complete::jsonb, on_dead::jsonb, schedule, fire_at
      FROM unnest(?::int[], ?::uuid[], ?::int[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[],
                  ?::timestamptz[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[],
                  ?::text[], ?::text[], ?::timestamptz[])
           AS n (tenant, id, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload,
                 target, retry, metadata, on_complete, on_dead, schedule, fire_at)
      """;

  /** One statement for each partition; the agenda hears of them once they are committed. */
  private void insert(Tx tx, List<TaskRow> rows) {
    Map<Partition, List<TaskRow>> byPartition = new TreeMap<>();
    rows.forEach(
        row -> byPartition.computeIfAbsent(row.id().partition(), _ -> new ArrayList<>()).add(row));
    byPartition.forEach(
        (partition, some) -> {
          if (some.size() < COPIED_FROM) {
            insert(tx, partition, some);
          } else {
            copy(tx, partition, some);
          }
        });
    tx.afterCommit(
        () -> {
          counters.addCreated(rows.size());
          byPartition.forEach(
              (partition, some) -> earliest(some).forEach((lane, at) -> note(partition, lane, at)));
        });
    tx.created(rows);
  }

  private static void insert(Tx tx, Partition partition, List<? extends InsertedTask> rows) {
    tx.update(
        Sql.forPartition(INSERT, partition),
        partition,
        Column.ints(rows, row -> row.tenant().value()),
        Column.uuids(rows, row -> row.id().value()),
        Column.ints(rows, InsertedTask::lane),
        Column.instants(rows, row -> row.readyAt()),
        Column.instants(rows, row -> row.dueAt()),
        Column.instants(rows, row -> row.createdAt()),
        Column.instants(rows, row -> row.expiresAt()),
        Column.texts(rows, row -> row.column(0)),
        Column.texts(rows, row -> row.column(1)),
        Column.texts(rows, row -> row.column(2)),
        Column.texts(rows, row -> row.column(3)),
        Column.texts(rows, row -> row.column(4)),
        Column.texts(rows, row -> row.column(5)),
        Column.texts(rows, row -> row.column(6)),
        Column.texts(rows, row -> row.column(7)),
        Column.texts(rows, InsertedTask::schedule),
        Column.instants(rows, row -> row.fireAt()));
  }

  private static final String COPY =
      """
      /* Tasks.copy */
      COPY carillon.task_{partition} (
          tenant, id, partition, lane, ready_at, due_at, created_at, expires_at, key, concurrency_key, payload,
          target, retry, metadata, on_complete, on_dead, schedule, fire_at)
      FROM STDIN (FORMAT binary)
      """;

  private static void copy(Tx tx, Partition partition, Iterable<? extends InsertedTask> rows) {
    tx.copy(
        Sql.forPartition(COPY, partition),
        copied -> {
          for (InsertedTask row : rows) {
            copied
                .row(18)
                .add(row.tenant().value())
                .add(row.id().value())
                .add(partition)
                .add(row.lane())
                .add(row.readyAt())
                .add(row.dueAt())
                .add(row.createdAt())
                .add(row.expiresAt());
            row.addColumns(copied);
            copied.add(row.schedule()).add(row.fireAt());
          }
        });
  }

  /** What is far away is found by the sweep when its time is near. */
  private void note(Partition partition, int lane, Instant readyAt) {
    if (readyAt.isBefore(clock.instant().plus(NOTED_AHEAD))) {
      due.note(partition, lane, readyAt);
    }
  }

  private static Map<Integer, Instant> earliest(List<TaskRow> rows) {
    Map<Integer, Instant> earliest = new TreeMap<>();
    rows.forEach(row -> earliest.merge(row.lane(), row.readyAt(), (a, b) -> a.isBefore(b) ? a : b));
    return earliest;
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

  private static final String HAND_KEY_ON =
      """
      /* Tasks.handKeyOn */
      UPDATE carillon.unique_task
      SET task = ?
      WHERE tenant = ?
        AND type = ?
        AND key = ?
      """;

  /**
   * The task that stands in the way of a unique one. If none does, the key is the new task's from
   * now on.
   */
  private Optional<TaskView> existing(Tx tx, TaskRow row, Duration window) {
    TenantId tenant = row.tenant();
    String type = row.asked().type();
    String key = row.asked().key();
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
      tx.update(HAND_KEY_ON, row.id(), tenant, type, key);
    }
    return existing;
  }

  public Optional<TaskView> find(TenantId tenant, TaskId id) {
    return reader.find(tenant, id);
  }

  public Optional<TaskStory> story(TenantId tenant, TaskId id) {
    return reader.story(tenant, id);
  }

  /** All attempts of a task, newest first; {@code before} is the last fence of the page before. */
  public Page<TaskStory.Attempt, Integer> attempts(
      TenantId tenant, TaskView task, int limit, @Nullable Integer before) {
    return reader.attempts(tenant, task, limit, before);
  }

  /** All changes of its state, newest first, but for its creation. */
  public Page<TaskStory.Transition, TaskStory.Moment> transitions(
      TenantId tenant, TaskView task, int limit, TaskStory.@Nullable Moment before) {
    return reader.transitions(tenant, task, limit, before);
  }

  /** Newest due first; {@code before} is the last id of the page before. */
  public Page<TaskView, TaskId> list(
      TenantId tenant, TaskFilter filter, int limit, @Nullable TaskId before, boolean withPayload) {
    // Few tasks have one key, so that is the shorter way where both are asked for.
    return filter.state() == TaskState.RUNNING && filter.key() == null
        ? running.list(tenant, filter, limit, before, withPayload)
        : reader.list(tenant, filter, limit, before, withPayload);
  }

  /**
   * Changed: CANCELLED now. Unchanged: it was. WrongState: it has ended otherwise, or it is RUNNING
   * and its cancel is now requested.
   */
  public ChangeResult cancel(
      Tx tx, TenantId tenant, TaskId id, String who, @Nullable Integer ifVersion) {
    return changes.cancel(tx, tenant, id, who, ifVersion);
  }

  /** One bulk change is one transaction; more than this would hold its locks for too long. */
  public static final int MOST_AT_ONCE = 50_000;

  /**
   * Cancels waiting tasks that match, and requests it of running ones; at most about {@link
   * #MOST_AT_ONCE} in one go.
   *
   * @param from where the one before ended
   */
  public BulkResult cancelMatching(
      Tx tx, TenantId tenant, TaskFilter filter, BulkResult.@Nullable Place from, String who) {
    return matching.cancel(tx, tenant, filter, from, who);
  }

  /**
   * How many match.
   *
   * @param isAtLeast whether there may be more: how far a count looks is bounded
   */
  public record Count(long matched, boolean isAtLeast) {}

  /** How many {@link #cancelMatching} would cancel or ask to end, if it went on to the end. */
  public Count countCancellable(Tx tx, TenantId tenant, TaskFilter filter) {
    return matching.countCancellable(tx, tenant, filter);
  }

  /** How many {@link #runMatching} would make due, if it went on to the end. */
  public Count countRunnable(Tx tx, TenantId tenant, TaskFilter filter) {
    return matching.countRunnable(tx, tenant, filter);
  }

  /**
   * Makes waiting tasks due now that match and are not due yet; at most about {@link #MOST_AT_ONCE}
   * in one go.
   *
   * @param from where the one before ended
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

  /** Makes a dead task wait again with a fresh budget, its history kept. */
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
