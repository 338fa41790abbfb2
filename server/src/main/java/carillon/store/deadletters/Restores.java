package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.HiddenValues;
import carillon.model.task.Callbacks;
import carillon.model.task.Lane;
import carillon.model.task.TaskSpec;
import carillon.model.task.TaskType;
import carillon.store.catalog.Audit;
import carillon.store.catalog.BatchLanes;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.ColumnList;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskColumns;
import carillon.store.tasks.TaskView;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Restores archived tasks of one tenant as dead letters. */
public final class Restores {

  private final Catalog catalog;
  private final Partitions partitions;

  public Restores(Catalog catalog, Partitions partitions) {
    this.catalog = catalog;
    this.partitions = partitions;
  }

  /** Bytes of task text held in memory and sent per statement, approximately. */
  static final long CHUNK_BYTES = 4 << 20;

  /**
   * A task to insert.
   *
   * @param spec with the secrets that the archive does not have
   */
  private record Row(ArchivedTask archived, TaskSpec spec, int lane) {
    TaskId id() {
      return archived.id();
    }

    TaskView task() {
      return archived.task();
    }
  }

  /**
   * What must be known of every task before the first is inserted.
   *
   * @param lane to find or create; its id is ignored
   * @param bytes approximate length of its text
   */
  public record Outline(TaskId id, Lane lane, int bytes) {

    public static Outline of(ArchivedTask archived, int bytes) {
      return new Outline(archived.id(), archived.task().lane(), bytes);
    }
  }

  /** Archived tasks, read one by one because all of them may not fit into memory. */
  public interface Archive {

    List<Outline> outlines();

    ArchivedTask read(int index);
  }

  /**
   * A task to restore.
   *
   * @param index in the archive
   */
  private record Planned(int index, Outline outline, int lane) {}

  /** Tasks whose types, lanes and partitions exist, so that restoring them is quick. */
  public static final class Prepared {
    private final TenantId tenant;
    private final Archive archive;
    private final List<Planned> planned;

    private Prepared(TenantId tenant, Archive archive, List<Planned> planned) {
      this.tenant = tenant;
      this.archive = archive;
      this.planned = planned;
    }

    private Set<Partition> partitions() {
      Set<Partition> partitions = new TreeSet<>();
      planned.forEach(each -> partitions.add(each.outline().id().partition()));
      return partitions;
    }

    private int given() {
      return archive.outlines().size();
    }
  }

  /** How many tasks are dead letters again, and how many were skipped because they exist. */
  public record Restored(int restored, int present) {}

  /**
   * Creates missing types, lanes and partitions. Of two tasks with the same id, the first counts.
   *
   * @throws Partitions.TooManyRestored if the tasks are of too many days
   * @throws carillon.store.catalog.LimitReached with the index of the task that exceeds a limit of
   *     the tenant
   */
  public Prepared prepare(TenantId tenant, Archive archive) {
    List<Outline> outlines = archive.outlines();
    BatchLanes lanes = catalog.lanesFor(tenant, outlines.size());
    for (int i = 0; i < outlines.size(); i++) {
      Lane lane = outlines.get(i).lane();
      lanes.want(i, lane.type(), lane.priority(), lane.slice(), lane.route());
    }
    lanes.create(true);
    // Sorted by id, so that concurrent restores of one file wait for each other only once.
    Map<UUID, Planned> planned = new TreeMap<>();
    for (int i = 0; i < outlines.size(); i++) {
      Outline outline = outlines.get(i);
      planned.putIfAbsent(outline.id().value(), new Planned(i, outline, lanes.lane(i).id()));
    }
    Prepared prepared = new Prepared(tenant, archive, List.copyOf(planned.values()));
    partitions.restore(prepared.partitions());
    return prepared;
  }

  /**
   * Fills in the secrets that the type has for the same hosts: an archive has none. Values that
   * stay hidden must be set before a redrive, or the attempt fails and says so.
   */
  private TaskSpec withSecrets(TenantId tenant, TaskSpec spec) {
    TaskType type = catalog.type(tenant, spec.type());
    Callbacks callbacks = spec.callbacks();
    return new TaskSpec(
        spec.type(),
        spec.key(),
        spec.concurrencyKey(),
        spec.payload(),
        HiddenValues.keepKnown(spec.target(), type.target()),
        spec.retry(),
        spec.metadata(),
        new Callbacks(
            HiddenValues.keepKnown(callbacks.onComplete(), type.callbacks().onComplete()),
            HiddenValues.keepKnown(callbacks.onDead(), type.callbacks().onDead())));
  }

  /** Inserts the tasks that do not exist, with their history; all of them or none. */
  public Restored restore(Tx tx, Prepared prepared, String who) {
    partitions.hold(tx, prepared.partitions());
    List<Letter> letters = new ArrayList<>();
    List<Row> rows = new ArrayList<>();
    long bytes = 0;
    for (Planned each : prepared.planned) {
      if (bytes > 0 && bytes + each.outline().bytes() > CHUNK_BYTES) {
        letters.addAll(insert(tx, prepared.tenant, rows));
        rows.clear();
        bytes = 0;
      }
      ArchivedTask archived = prepared.archive.read(each.index());
      TaskSpec spec = withSecrets(prepared.tenant, archived.task().spec());
      rows.add(new Row(archived, spec, each.lane()));
      bytes += each.outline().bytes();
    }
    letters.addAll(insert(tx, prepared.tenant, rows));
    // Last, because this locks groups, for which every task that dies meanwhile waits.
    if (!letters.isEmpty()) {
      insertLetters(tx, prepared.tenant, letters);
    }
    int restored = letters.size();
    int present = prepared.given() - restored;
    Audit.record(
        tx,
        prepared.tenant,
        who,
        "dead-letter.restore",
        "archive",
        "{\"restored\": " + restored + ", \"present\": " + present + "}");
    return new Restored(restored, present);
  }

  /** Without the task's large texts: all letters of an archive are in memory together. */
  private record Letter(
      TaskId task,
      String type,
      @Nullable Instant diedAt,
      @Nullable String error,
      @Nullable String failure,
      @Nullable Integer status,
      @Nullable String key) {}

  /** Inserts all but the dead letters, which it returns. */
  private static List<Letter> insert(Tx tx, TenantId tenant, List<Row> rows) {
    Set<UUID> inserted = new HashSet<>(insertTasks(tx, tenant, rows));
    List<Row> restored = rows.stream().filter(row -> inserted.contains(row.id().value())).toList();
    RestoredHistory.insert(tx, tenant, restored.stream().map(Row::archived).toList());
    return restored.stream().map(row -> letter(row.task())).toList();
  }

  private static final ColumnList COLUMNS =
      ColumnList.of(
              "id uuid, partition date, lane int, due_at timestamptz, created_at timestamptz,"
                  + " started_at timestamptz, finished_at timestamptz, expires_at timestamptz,"
                  + " attempt int, version int, crashes smallint,"
                  + " cancel_requested boolean, leased_by text, schedule text,"
                  + " fire_at timestamptz, progress text, failure text, status smallint,"
                  + " error text, output text, request text")
          .and(TaskColumns.SPEC);

  /**
   * A claim may still list a task that died, was purged and is now restored from an older file. The
   * task must not get a lease with the same fence again, so it gets the highest one listed.
   */
  private static final String TASKS =
      """
      /* Restores.tasks */
      WITH arg AS MATERIALIZED (
          SELECT ?::int AS tenant, ?::uuid[] AS ids
      ), listed AS MATERIALIZED ( -- hardly ever has a row: it is searched for each task
          SELECT h.id, max(h.fence) AS fence
          FROM (
              SELECT h.id, h.fence, h.id IN (SELECT unnest(arg.ids) FROM arg) AS is_restored -- a hash table
              FROM carillon.claim c
              CROSS JOIN LATERAL unnest(c.tenants, c.tasks, c.fences) AS h (tenant, id, fence)
              WHERE h.tenant = (SELECT tenant FROM arg)
              OFFSET 0 -- not a join, which would compare each task with each other
          ) h
          WHERE h.is_restored
          GROUP BY h.id
      )
      INSERT INTO carillon.task (tenant, state, fence, %1$s)
      SELECT arg.tenant, 'DEAD', greatest(n.fence, (SELECT l.fence FROM listed l WHERE l.id = n.id)), %2$s
      FROM arg
      CROSS JOIN unnest(?::int[], %3$s) AS n (fence, %1$s)
      ON CONFLICT DO NOTHING
      RETURNING id
      """
          .formatted(COLUMNS.names(), COLUMNS.names('n'), COLUMNS.arrays());

  private static List<UUID> insertTasks(Tx tx, TenantId tenant, List<Row> rows) {
    List<TaskView> tasks = rows.stream().map(Row::task).toList();
    List<Object> values = new ArrayList<>();
    values.add(tenant);
    values.add(Column.uuids(rows, row -> row.id().value()));
    values.add(Column.ints(tasks, TaskView::fence));
    values.add(Column.uuids(rows, row -> row.id().value()));
    values.add(Column.dates(rows, row -> row.id().partition().day()));
    values.add(Column.ints(rows, Row::lane));
    values.add(Column.instants(tasks, TaskView::dueAt));
    values.add(Column.instants(tasks, TaskView::createdAt));
    values.add(Column.instants(tasks, TaskView::startedAt));
    values.add(Column.instants(tasks, TaskView::finishedAt));
    values.add(Column.instants(tasks, TaskView::expiresAt));
    values.add(Column.ints(tasks, TaskView::attempt));
    values.add(Column.ints(tasks, TaskView::version));
    values.add(Column.shorts(tasks, task -> task.crashes() == 0 ? null : task.crashes()));
    values.add(Column.booleans(tasks, TaskView::cancelRequested));
    values.add(Column.texts(tasks, TaskView::leasedBy));
    values.add(Column.texts(tasks, TaskView::scheduleName));
    values.add(Column.instants(tasks, TaskView::fireAt));
    values.add(Column.texts(tasks, TaskView::progress));
    values.add(Column.texts(tasks, task -> failure(task.last())));
    values.add(Column.shorts(tasks, task -> task.last().status()));
    values.add(Column.texts(tasks, task -> task.last().error()));
    values.add(Column.texts(tasks, task -> task.last().output()));
    values.add(Column.texts(tasks, task -> task.last().request()));
    values.addAll(TaskColumns.texts(rows, (row, column) -> TaskColumns.text(row.spec(), column)));
    return tx.query(TASKS, row -> Sql.uuid(row, "id"), values.toArray());
  }

  // The default of kept_from is now: the task died long ago and would be archived again at once.
  private static final String LETTERS =
      """
      /* Restores.letters */
      INSERT INTO carillon.dead_letter (tenant, task, partition, type, died_at, error, failure, status, key)
      SELECT ?, task, partition, type, least(died_at, clock_timestamp()), error, failure, status, key
      FROM unnest(?::uuid[], ?::date[], ?::text[], ?::timestamptz[], ?::text[], ?::text[], ?::smallint[], ?::text[])
           AS n (task, partition, type, died_at, error, failure, status, key)
      ON CONFLICT DO NOTHING
      """;

  private static Letter letter(TaskView task) {
    AttemptResult last = task.last();
    return new Letter(
        task.id(),
        task.type(),
        task.finishedAt(),
        last.error(),
        failure(last),
        last.status(),
        task.key());
  }

  private static void insertLetters(Tx tx, TenantId tenant, List<Letter> letters) {
    tx.update(
        LETTERS,
        tenant,
        Column.uuids(letters, letter -> letter.task().value()),
        Column.dates(letters, letter -> letter.task().partition().day()),
        Column.texts(letters, Letter::type),
        Column.instants(letters, Letter::diedAt),
        Column.texts(letters, Letter::error),
        Column.texts(letters, Letter::failure),
        Column.shorts(letters, Letter::status),
        Column.texts(letters, Letter::key));
  }

  static @Nullable String failure(AttemptResult result) {
    return result.failure() == null ? null : result.failure().name();
  }
}
