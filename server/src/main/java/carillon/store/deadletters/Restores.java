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

/** Puts archived tasks of one tenant at a time back among the dead letters. */
public final class Restores {

  private final Catalog catalog;
  private final Partitions partitions;

  public Restores(Catalog catalog, Partitions partitions) {
    this.catalog = catalog;
    this.partitions = partitions;
  }

  /** So much of the text of tasks is held and sent at once. */
  static final long CHUNK_BYTES = 4 << 20;

  private record Row(ArchivedTask task, int lane) {
    UUID id() {
      return task.id().value();
    }
  }

  /**
   * What must be known of a task before it is written.
   *
   * @param bytes about how long its text is
   */
  public record Place(TaskId id, String type, int priority, int slice, Route route, int bytes) {

    public static Place of(ArchivedTask task, int bytes) {
      Route route = task.target() == null ? Route.TYPE : Route.of(Json.target(task.target()));
      return new Place(task.id(), task.type(), task.priority(), task.slice(), route, bytes);
    }
  }

  /** Archived tasks, of which some are in memory at a time: all of them may not fit. */
  public interface Archived {

    /** Of each task. */
    List<Place> places();

    ArchivedTask read(int index);

    /** Tasks that are in memory. */
    static Archived of(List<ArchivedTask> tasks) {
      List<Place> places = tasks.stream().map(task -> Place.of(task, 0)).toList();
      return new Archived() {
        @Override
        public List<Place> places() {
          return places;
        }

        @Override
        public ArchivedTask read(int index) {
          return tasks.get(index);
        }
      };
    }
  }

  /** Which of the tasks it is, and its lane. */
  private record Planned(int index, Place place, int lane) {}

  /** Tasks whose lanes and partitions are there, so that their transaction is a short one. */
  public static final class Prepared {
    private final TenantId tenant;
    private final Archived archived;
    private final List<Planned> planned;

    private Prepared(TenantId tenant, Archived archived, List<Planned> planned) {
      this.tenant = tenant;
      this.archived = archived;
      this.planned = planned;
    }

    private Set<Partition> partitions() {
      Set<Partition> partitions = new TreeSet<>();
      planned.forEach(each -> partitions.add(each.place().id().partition()));
      return partitions;
    }

    private int given() {
      return archived.places().size();
    }
  }

  /** How many are dead letters again, and how many were left alone because they exist. */
  public record Restored(int restored, int present) {}

  /**
   * Makes the types, lanes and partitions that are gone. Of two with the same id the first is
   * meant.
   *
   * @throws Partitions.TooManyRestored if the tasks are of too many days
   * @throws carillon.store.catalog.LimitReached with the index of the task that is one too many for
   *     the tenant
   */
  public Prepared prepare(TenantId tenant, Archived archived) {
    List<Place> places = archived.places();
    BatchLanes lanes = catalog.lanesFor(tenant, places.size());
    for (int i = 0; i < places.size(); i++) {
      Place place = places.get(i);
      lanes.want(i, place.type(), place.priority(), place.slice(), place.route());
    }
    lanes.create(true);
    // By id, so that two who restore the same file wait for each other only once.
    Map<UUID, Planned> planned = new TreeMap<>();
    for (int i = 0; i < places.size(); i++) {
      Place place = places.get(i);
      planned.putIfAbsent(place.id().value(), new Planned(i, place, lanes.lane(i).id()));
    }
    Prepared prepared = new Prepared(tenant, archived, List.copyOf(planned.values()));
    partitions.restore(prepared.partitions());
    return prepared;
  }

  /**
   * An archive has no secrets: those that the type has for the same host are the task's again. What
   * is still hidden then has to be set before it is redriven; its attempt says so.
   */
  private ArchivedTask withSecrets(TenantId tenant, ArchivedTask task) {
    TaskType type = catalog.type(tenant, task.type());
    return task.with(
        filled(task.target(), type.target()),
        filled(task.onComplete(), type.callbacks().onComplete()),
        filled(task.onDead(), type.callbacks().onDead()));
  }

  private static @Nullable String filled(@Nullable String json, @Nullable Target ofType) {
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

  /** Writes those that do not exist, each with its story, or none at all. */
  public Restored restore(Tx tx, Prepared prepared, String who) {
    partitions.hold(tx, prepared.partitions());
    List<Letter> letters = new ArrayList<>();
    List<Row> rows = new ArrayList<>();
    long bytes = 0;
    for (Planned each : prepared.planned) {
      if (bytes > 0 && bytes + each.place().bytes() > CHUNK_BYTES) {
        letters.addAll(write(tx, prepared.tenant, rows));
        rows.clear();
        bytes = 0;
      }
      ArchivedTask task = prepared.archived.read(each.index());
      rows.add(new Row(withSecrets(prepared.tenant, task), each.lane()));
      bytes += each.place().bytes();
    }
    letters.addAll(write(tx, prepared.tenant, rows));
    // All of them at the end: they lock groups, which every task that dies meanwhile waits for.
    if (!letters.isEmpty()) {
      addLetters(tx, prepared.tenant, letters);
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

  /** What of a task its dead letter has. */
  private record Letter(
      TaskId task,
      String type,
      @Nullable Instant diedAt,
      ArchivedTask.Result last,
      @Nullable String key) {}

  /** Writes all but their dead letters, and returns those. */
  private static List<Letter> write(Tx tx, TenantId tenant, List<Row> rows) {
    Set<UUID> inserted = new HashSet<>(insert(tx, tenant, rows));
    List<Row> restored = rows.stream().filter(row -> inserted.contains(row.id())).toList();
    RestoredHistory.insert(tx, tenant, restored.stream().map(Row::task).toList());
    return restored.stream().map(row -> letter(row.task())).toList();
  }

  private static List<UUID> insert(Tx tx, TenantId tenant, List<Row> rows) {
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

  // It died long ago, and would be archived again at once: its time to live starts anew, by the
  // default of kept_from.
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

  private static void addLetters(Tx tx, TenantId tenant, List<Letter> letters) {
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
