package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.target.HiddenValues;
import carillon.model.target.Target;
import carillon.model.task.Route;
import carillon.model.task.TaskType;
import carillon.store.catalog.Audit;
import carillon.store.catalog.BatchLanes;
import carillon.store.catalog.Catalog;
import carillon.store.catalog.Partitions;
import carillon.store.db.Column;
import carillon.store.db.Json;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
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

  private record Row(ArchivedTask task, int lane) {
    UUID id() {
      return task.id().value();
    }
  }

  /**
   * What must be known of every task before the first is inserted.
   *
   * @param bytes approximate length of its text
   */
  public record Outline(TaskId id, String type, int priority, int slice, Route route, int bytes) {

    public static Outline of(ArchivedTask task, int bytes) {
      Route route = task.target() == null ? Route.TYPE : Route.of(Json.target(task.target()));
      return new Outline(task.id(), task.type(), task.priority(), task.slice(), route, bytes);
    }
  }

  /** Archived tasks, read one by one because all of them may not fit into memory. */
  public interface Archive {

    List<Outline> outlines();

    ArchivedTask read(int index);

    /** An archive in memory. */
    static Archive of(List<ArchivedTask> tasks) {
      List<Outline> outlines = tasks.stream().map(task -> Outline.of(task, 0)).toList();
      return new Archive() {
        @Override
        public List<Outline> outlines() {
          return outlines;
        }

        @Override
        public ArchivedTask read(int index) {
          return tasks.get(index);
        }
      };
    }
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
      Outline outline = outlines.get(i);
      lanes.want(i, outline.type(), outline.priority(), outline.slice(), outline.route());
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
  private ArchivedTask withSecrets(TenantId tenant, ArchivedTask task) {
    TaskType type = catalog.type(tenant, task.type());
    return task.with(
        withSecrets(task.target(), type.target()),
        withSecrets(task.onComplete(), type.callbacks().onComplete()),
        withSecrets(task.onDead(), type.callbacks().onDead()));
  }

  private static @Nullable String withSecrets(@Nullable String json, @Nullable Target ofType) {
    if (json == null || !json.contains(HiddenValues.TEXT)) {
      return json;
    }
    Target target = HiddenValues.keepKnown(Json.target(json), ofType);
    return Sql.json(target);
  }

  private static final String TASKS =
      """
      /* Restores.tasks */
      INSERT INTO carillon.task (
          tenant, state, id, partition, lane, due_at, created_at, started_at, finished_at, expires_at, attempt, fence,
          version, crashes, cancel_requested, leased_by, payload, target, retry, metadata, on_complete, on_dead,
          concurrency_key, schedule, fire_at, progress, key, failure, status, error, output, request)
      SELECT ?, 'DEAD', id, partition, lane, due_at, created_at, started_at, finished_at, expires_at, attempt, fence,
             version, crashes, cancel_requested, leased_by, payload, target::jsonb, retry::jsonb, metadata::jsonb,
             on_complete::jsonb, on_dead::jsonb, concurrency_key, schedule, fire_at, progress, key, failure, status,
             error, output, request
      FROM unnest(?::uuid[], ?::date[], ?::int[], ?::timestamptz[], ?::timestamptz[], ?::timestamptz[],
                  ?::timestamptz[], ?::timestamptz[], ?::int[], ?::int[], ?::int[], ?::smallint[], ?::boolean[],
                  ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[],
                  ?::timestamptz[], ?::text[], ?::text[], ?::text[], ?::smallint[], ?::text[], ?::text[], ?::text[])
           AS n (id, partition, lane, due_at, created_at, started_at, finished_at, expires_at, attempt, fence, version,
                 crashes, cancel_requested, leased_by, payload, target, retry, metadata, on_complete, on_dead,
                 concurrency_key, schedule, fire_at, progress, key, failure, status, error, output, request)
      ON CONFLICT DO NOTHING
      RETURNING id
      """;

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
      ArchivedTask task = prepared.archive.read(each.index());
      rows.add(new Row(withSecrets(prepared.tenant, task), each.lane()));
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

  private record Letter(
      TaskId task,
      String type,
      @Nullable Instant diedAt,
      ArchivedTask.Result last,
      @Nullable String key) {}

  /** Inserts all but the dead letters, which it returns. */
  private static List<Letter> insert(Tx tx, TenantId tenant, List<Row> rows) {
    Set<UUID> inserted = new HashSet<>(insertTasks(tx, tenant, rows));
    List<Row> restored = rows.stream().filter(row -> inserted.contains(row.id())).toList();
    RestoredHistory.insert(tx, tenant, restored.stream().map(Row::task).toList());
    return restored.stream().map(row -> letter(row.task())).toList();
  }

  private static List<UUID> insertTasks(Tx tx, TenantId tenant, List<Row> rows) {
    List<ArchivedTask> tasks = rows.stream().map(Row::task).toList();
    return tx.query(
        TASKS,
        row -> Sql.uuid(row, "id"),
        tenant,
        Column.uuids(rows, Row::id),
        Column.dates(tasks, task -> task.id().partition().day()),
        Column.ints(rows, Row::lane),
        Column.instants(tasks, ArchivedTask::dueAt),
        Column.instants(tasks, ArchivedTask::createdAt),
        Column.instants(tasks, ArchivedTask::startedAt),
        Column.instants(tasks, ArchivedTask::finishedAt),
        Column.instants(tasks, ArchivedTask::expiresAt),
        Column.ints(tasks, ArchivedTask::attempt),
        Column.ints(tasks, ArchivedTask::fence),
        Column.ints(tasks, ArchivedTask::version),
        Column.shorts(tasks, ArchivedTask::crashes),
        Column.booleans(tasks, ArchivedTask::cancelRequested),
        Column.texts(tasks, ArchivedTask::leasedBy),
        Column.texts(tasks, ArchivedTask::payload),
        Column.texts(tasks, ArchivedTask::target),
        Column.texts(tasks, ArchivedTask::retry),
        Column.texts(tasks, ArchivedTask::metadata),
        Column.texts(tasks, ArchivedTask::onComplete),
        Column.texts(tasks, ArchivedTask::onDead),
        Column.texts(tasks, ArchivedTask::concurrencyKey),
        Column.texts(tasks, ArchivedTask::scheduleName),
        Column.instants(tasks, ArchivedTask::fireAt),
        Column.texts(tasks, ArchivedTask::progress),
        Column.texts(tasks, ArchivedTask::key),
        Column.texts(tasks, task -> failure(task.last())),
        Column.shorts(tasks, task -> task.last().status()),
        Column.texts(tasks, task -> task.last().error()),
        Column.texts(tasks, task -> task.last().output()),
        Column.texts(tasks, task -> task.last().request()));
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

  private static Letter letter(ArchivedTask task) {
    return new Letter(task.id(), task.type(), task.finishedAt(), task.last(), task.key());
  }

  private static void insertLetters(Tx tx, TenantId tenant, List<Letter> letters) {
    tx.update(
        LETTERS,
        tenant,
        Column.uuids(letters, letter -> letter.task().value()),
        Column.dates(letters, letter -> letter.task().partition().day()),
        Column.texts(letters, Letter::type),
        Column.instants(letters, Letter::diedAt),
        Column.texts(letters, letter -> letter.last().error()),
        Column.texts(letters, letter -> failure(letter.last())),
        Column.shorts(letters, letter -> letter.last().status()),
        Column.texts(letters, Letter::key));
  }

  static @Nullable String failure(ArchivedTask.Result result) {
    return result.failure() == null ? null : result.failure().name();
  }
}
