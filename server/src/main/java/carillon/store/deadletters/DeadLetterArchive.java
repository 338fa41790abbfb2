package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.model.TenantId;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.AttemptResult;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskStory;
import carillon.store.tasks.TaskView;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * Reads dead letters of all tenants past their time to live, and drops them once they are in a
 * file. Reading and dropping are two transactions, because the file is written in between; a letter
 * that has changed by then stays.
 */
public final class DeadLetterArchive {

  /** Output of one task's earlier attempts beyond this is omitted, the oldest first. */
  private static final int MAX_OUTPUT_CHARS = 4 << 20;

  private final Db db;
  private final TaskReader reader;

  public DeadLetterArchive(Db db, Catalog catalog) {
    this.db = db;
    this.reader = new TaskReader(db, catalog);
  }

  /**
   * A dead letter as it was read.
   *
   * @param diedAt identifies, together with the task's version, a letter that has not changed since
   */
  public record Letter(Instant diedAt, ArchivedTask task) {

    private TenantId tenant() {
      return task.task().lane().tenant();
    }
  }

  /**
   * The letters to archive next.
   *
   * @param hasMore whether others are past their time to live too
   */
  public record Batch(List<Letter> letters, boolean hasMore) {
    public Batch {
      letters = List.copyOf(letters);
    }
  }

  // PostgreSQL knows the lengths of large texts without reading them. LIMIT 1, here and below,
  // keeps the planner from turning a lookup into a scan of all tasks.
  static final String OLDEST =
      """
      /* DeadLetterArchive.oldest */
      WITH old AS MATERIALIZED (
          SELECT d.tenant, d.task, d.partition, d.kept_from
          FROM carillon.dead_letter d
          WHERE d.kept_from < (SELECT clock_timestamp() - ?::bigint * interval '1 millisecond')
          ORDER BY d.kept_from
          LIMIT ?
      )
      SELECT old.tenant, old.task, old.partition, t.bytes + a.bytes AS bytes
      FROM old
      CROSS JOIN LATERAL (
          SELECT coalesce(octet_length(t.payload), 0) + coalesce(octet_length(t.output), 0)
                 + coalesce(octet_length(t.error), 0) + coalesce(octet_length(t.request), 0)
                 + coalesce(pg_column_size(t.target), 0) AS bytes
          FROM carillon.task t
          WHERE t.tenant = old.tenant
            AND t.id = old.task
            AND t.partition = old.partition
          LIMIT 1
      ) t
      CROSS JOIN LATERAL (
          SELECT coalesce(sum(coalesce(octet_length(a.output), 0) + coalesce(octet_length(a.error), 0)
                              + coalesce(octet_length(a.request), 0)), 0) AS bytes
          FROM carillon.attempt a
          WHERE a.tenant = old.tenant
            AND a.task = old.task
            AND a.partition = old.partition
      ) a
      ORDER BY old.kept_from
      """;

  private record Found(int tenant, UUID task, LocalDate partition, long bytes) {}

  /**
   * Reads the letters that have been dead longest, if longer than the time to live.
   *
   * @param maxBytes at least one letter is read, however large
   */
  public Batch oldest(Duration ttl, int limit, long maxBytes) {
    return db.inTransaction(
        tx -> {
          List<Found> found = tx.query(OLDEST, DeadLetterArchive::found, ttl, limit);
          List<Found> some = within(found, maxBytes);
          boolean hasMore = found.size() == limit || some.size() < found.size();
          return new Batch(some.isEmpty() ? List.of() : read(tx, some), hasMore);
        });
  }

  private static Found found(ResultSet row) throws SQLException {
    return new Found(
        row.getInt("tenant"),
        Sql.uuid(row, "task"),
        row.getObject("partition", LocalDate.class),
        row.getLong("bytes"));
  }

  private static List<Found> within(List<Found> found, long maxBytes) {
    long bytes = 0;
    for (int i = 0; i < found.size(); i++) {
      bytes += found.get(i).bytes();
      if (bytes > maxBytes && i > 0) {
        return found.subList(0, i);
      }
    }
    return found;
  }

  private static final String TASKS =
      """
      /* DeadLetterArchive.tasks */
      SELECT d.died_at, %s, t.payload
      FROM unnest(?::int[], ?::uuid[], ?::date[]) AS f (tenant, id, partition)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.task t
          WHERE t.tenant = f.tenant
            AND t.id = f.id
            AND t.partition = f.partition
            AND t.state = 'DEAD'
          LIMIT 1
      ) t
      JOIN carillon.dead_letter d ON d.tenant = t.tenant AND d.task = t.id
      ORDER BY d.kept_from
      """
          .formatted(TaskReader.COLUMNS);

  private static final String ATTEMPTS =
      """
      /* DeadLetterArchive.attempts */
      SELECT a.*
      FROM unnest(?::int[], ?::uuid[], ?::date[]) AS f (tenant, id, partition)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.attempt a
          WHERE a.tenant = f.tenant
            AND a.task = f.id
            AND a.partition = f.partition
          ORDER BY a.fence DESC
          LIMIT ?
      ) a
      """;

  // Of a dead task, all transitions are in the table.
  private static final String TRANSITIONS =
      """
      /* DeadLetterArchive.transitions */
      SELECT w.*
      FROM unnest(?::int[], ?::uuid[], ?::date[]) AS f (tenant, id, partition)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.transition w
          WHERE w.tenant = f.tenant
            AND w.task = f.id
            AND w.partition = f.partition
          ORDER BY w.at DESC, w.fence DESC
          LIMIT ?
      ) w
      """;

  private record Dead(Instant diedAt, TaskView task) {}

  /** Reads the tasks first: a change while their history is read raises a task's version. */
  private List<Letter> read(Tx tx, List<Found> found) {
    Column tenants = Column.ints(found, Found::tenant);
    Column ids = Column.uuids(found, Found::task);
    Column partitions = Column.dates(found, Found::partition);
    List<Dead> dead =
        tx.query(
            TASKS,
            row -> new Dead(Sql.requiredInstant(row, "died_at"), reader.view(row)),
            tenants,
            ids,
            partitions);
    Map<Key, List<TaskStory.Attempt>> attempts =
        byTask(
            tx.query(
                ATTEMPTS,
                row -> new Keyed<>(key(row), TaskReader.attempt(row)),
                tenants,
                ids,
                partitions,
                ArchivedTask.MAX_HISTORY));
    Map<Key, List<TaskStory.Transition>> transitions =
        byTask(
            tx.query(
                TRANSITIONS,
                row -> new Keyed<>(key(row), TaskReader.transition(row)),
                tenants,
                ids,
                partitions,
                ArchivedTask.MAX_HISTORY));
    List<Letter> letters = new ArrayList<>(dead.size());
    for (Dead each : dead) {
      TaskView task = each.task();
      Key key = new Key(task.lane().tenant().value(), task.id().value());
      letters.add(
          new Letter(
              each.diedAt(),
              new ArchivedTask(
                  task,
                  bounded(attempts.getOrDefault(key, List.of())).reversed(),
                  transitions.getOrDefault(key, List.of()).reversed())));
    }
    return letters;
  }

  /** Task ids are unique only within a tenant: two installations may have been merged. */
  private record Key(int tenant, UUID task) {}

  private static Key key(ResultSet row) throws SQLException {
    return new Key(row.getInt("tenant"), Sql.uuid(row, "task"));
  }

  private record Keyed<T>(Key key, T value) {}

  private static <T> Map<Key, List<T>> byTask(List<Keyed<T>> rows) {
    Map<Key, List<T>> byTask = new HashMap<>();
    rows.forEach(row -> byTask.computeIfAbsent(row.key(), _ -> new ArrayList<>()).add(row.value()));
    return byTask;
  }

  /** Omits output of the older attempts, so that a line stays short enough to be restored. */
  private static List<TaskStory.Attempt> bounded(List<TaskStory.Attempt> attempts) {
    List<TaskStory.Attempt> bounded = new ArrayList<>(attempts.size());
    long chars = 0;
    for (TaskStory.Attempt each : attempts) {
      String output = each.result().output();
      chars += output == null ? 0 : output.length();
      bounded.add(chars > MAX_OUTPUT_CHARS ? withoutOutput(each) : each);
    }
    return bounded;
  }

  private static TaskStory.Attempt withoutOutput(TaskStory.Attempt all) {
    AttemptResult result = all.result();
    return new TaskStory.Attempt(
        all.attempt(),
        all.fence(),
        all.by(),
        all.startedAt(),
        all.endedAt(),
        all.outcome(),
        new AttemptResult(
            result.failure(), result.status(), result.error(), null, result.request()));
  }

  // Every change of a task locks its row first and raises its version. So a row that matches under
  // the lock is as it was read, and stays so until it is deleted. One day at a time: a DELETE locks
  // every partition from which it might delete, with all indexes.
  static final String DROP =
      """
      /* DeadLetterArchive.drop */
      WITH f AS MATERIALIZED (
          SELECT *
          FROM unnest(?::int[], ?::uuid[], ?::int[], ?::timestamptz[]) AS f (tenant, id, version, died_at)
          ORDER BY tenant, id -- in one order, so that two nodes that archive rarely wait for each other
      ), unchanged AS MATERIALIZED (
          SELECT t.tenant, t.id
          FROM f
          CROSS JOIN LATERAL (
              SELECT t.tenant, t.id
              FROM carillon.task t
              WHERE t.tenant = f.tenant
                AND t.id = f.id
                AND t.partition = DATE '{day}'
                AND t.state = 'DEAD'
                AND t.version = f.version
                AND EXISTS (
                    SELECT
                    FROM carillon.dead_letter d
                    WHERE d.tenant = f.tenant
                      AND d.task = f.id
                      AND d.died_at = f.died_at)
              LIMIT 1
              FOR UPDATE OF t
          ) t
      ), letters AS (
          DELETE FROM carillon.dead_letter d
          USING unchanged u
          WHERE d.tenant = u.tenant
            AND d.task = u.id
      ), attempts AS (
          DELETE FROM carillon.attempt a
          USING unchanged u
          WHERE a.tenant = u.tenant
            AND a.task = u.id
            AND a.partition = DATE '{day}'
      ), transitions AS (
          DELETE FROM carillon.transition w
          USING unchanged u
          WHERE w.tenant = u.tenant
            AND w.task = u.id
            AND w.partition = DATE '{day}'
      )
      DELETE FROM carillon.task t
      USING unchanged u
      WHERE t.tenant = u.tenant
        AND t.id = u.id
        AND t.partition = DATE '{day}'
      RETURNING t.tenant
      """;

  /**
   * Deletes the letters that have not changed since they were read, with their tasks, and returns
   * how many.
   *
   * @param file that contains them, for the audit trail
   */
  public int drop(List<Letter> letters, String file, String who) {
    Map<Partition, List<Letter>> byPartition = new TreeMap<>();
    letters.forEach(
        each ->
            byPartition
                .computeIfAbsent(each.task().id().partition(), _ -> new ArrayList<>())
                .add(each));
    int dropped = 0;
    for (Map.Entry<Partition, List<Letter>> each : byPartition.entrySet()) {
      // One transaction per day: tasks are locked before groups, as in all other transactions.
      dropped += db.inTransaction(tx -> drop(tx, each.getKey(), each.getValue(), file, who));
    }
    return dropped;
  }

  private static int drop(
      Tx tx, Partition partition, List<Letter> letters, String file, String who) {
    Map<Integer, Integer> dropped = new TreeMap<>();
    drop(tx, partition, letters).forEach(tenant -> dropped.merge(tenant, 1, Integer::sum));
    dropped.forEach(
        (tenant, tasks) ->
            Audit.record(
                tx,
                new TenantId(tenant),
                who,
                "dead-letter.archive",
                file,
                "{\"archived\": " + tasks + "}"));
    return dropped.values().stream().mapToInt(tasks -> tasks).sum();
  }

  /** Returns the tenant of each deleted letter. */
  private static List<Integer> drop(Tx tx, Partition partition, List<Letter> letters) {
    return tx.query(
        Sql.forPartition(DROP, partition),
        row -> row.getInt("tenant"),
        Column.ints(letters, each -> each.tenant().value()),
        Column.uuids(letters, each -> each.task().id().value()),
        Column.ints(letters, each -> each.task().task().version()),
        Column.instants(letters, Letter::diedAt));
  }
}
