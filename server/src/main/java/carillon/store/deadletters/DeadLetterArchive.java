package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.model.task.FailureKind;
import carillon.model.task.TaskState;
import carillon.store.catalog.Audit;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
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

  public DeadLetterArchive(Db db) {
    this.db = db;
  }

  /**
   * A dead letter as it was read.
   *
   * @param diedAt identifies, together with the task's version, a letter that has not changed since
   */
  public record Letter(TenantId tenant, Partition partition, Instant diedAt, ArchivedTask task) {}

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
  // keeps
  // the planner from turning a lookup into a scan of all tasks.
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

  private record Found(int tenant, UUID task, LocalDate partition, long bytes) {
    Key key() {
      return new Key(tenant, task);
    }
  }

  /** Task ids are unique only within a tenant: two installations may have been merged. */
  private record Key(int tenant, UUID task) {}

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
      SELECT n.name AS tenant_name, l.type, l.priority, l.slice, d.died_at, t.tenant, t.id, t.key, t.due_at,
             t.created_at, t.started_at, t.finished_at, t.expires_at, t.attempt, t.fence, t.version, t.crashes,
             t.cancel_requested, t.leased_by, t.payload, t.target, t.retry, t.metadata, t.on_complete, t.on_dead,
             t.concurrency_key, t.schedule, t.fire_at, t.progress, t.failure, t.status, t.error, t.output, t.request
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
      JOIN carillon.lane l ON l.id = t.lane
      JOIN carillon.tenant n ON n.id = t.tenant
      """;

  private static final String ATTEMPTS =
      """
      /* DeadLetterArchive.attempts */
      SELECT a.tenant, a.task, a.attempt, a.fence, a.leased_by, a.started_at, a.ended_at, a.outcome, a.failure,
             a.status, a.error, a.output, a.request
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

  private static final String TRANSITIONS =
      """
      /* DeadLetterArchive.transitions */
      SELECT w.tenant, w.task, w.at, w.from_state, w.to_state, w.fence, w.who, w.reason
      FROM unnest(?::int[], ?::uuid[], ?::date[]) AS f (tenant, id, partition)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.every_transition w
          WHERE w.tenant = f.tenant
            AND w.task = f.id
            AND w.partition = f.partition
          ORDER BY w.at DESC, w.fence DESC
          LIMIT ?
      ) w
      """;

  private record Keyed<T>(Key key, T value) {}

  /** Reads the tasks first: a change while their history is read raises a task's version. */
  private static List<Letter> read(Tx tx, List<Found> found) {
    Column tenants = Column.ints(found, Found::tenant);
    Column ids = Column.uuids(found, Found::task);
    Column partitions = Column.dates(found, Found::partition);
    Map<Key, Letter> letters = new HashMap<>();
    tx.query(TASKS, DeadLetterArchive::letter, tenants, ids, partitions)
        .forEach(each -> letters.put(each.key(), each.value()));
    Map<Key, List<ArchivedTask.Attempt>> attempts =
        byTask(
            tx.query(
                ATTEMPTS,
                DeadLetterArchive::attempt,
                tenants,
                ids,
                partitions,
                ArchivedTask.MAX_HISTORY));
    Map<Key, List<ArchivedTask.Transition>> transitions =
        byTask(
            tx.query(
                TRANSITIONS,
                DeadLetterArchive::transition,
                tenants,
                ids,
                partitions,
                ArchivedTask.MAX_HISTORY));
    List<Letter> all = new ArrayList<>(found.size());
    for (Found each : found) {
      Letter letter = letters.get(each.key());
      if (letter != null) {
        all.add(
            new Letter(
                letter.tenant(),
                new Partition(each.partition()),
                letter.diedAt(),
                letter
                    .task()
                    .with(
                        bounded(attempts.getOrDefault(each.key(), List.of())).reversed(),
                        transitions.getOrDefault(each.key(), List.of()).reversed())));
      }
    }
    return all;
  }

  private static <T> Map<Key, List<T>> byTask(List<Keyed<T>> rows) {
    Map<Key, List<T>> byTask = new HashMap<>();
    rows.forEach(row -> byTask.computeIfAbsent(row.key(), _ -> new ArrayList<>()).add(row.value()));
    return byTask;
  }

  /** Omits output of the older attempts, so that a line stays short enough to be restored. */
  private static List<ArchivedTask.Attempt> bounded(List<ArchivedTask.Attempt> attempts) {
    List<ArchivedTask.Attempt> bounded = new ArrayList<>(attempts.size());
    long chars = 0;
    for (ArchivedTask.Attempt each : attempts) {
      String output = each.result().output();
      chars += output == null ? 0 : output.length();
      bounded.add(chars > MAX_OUTPUT_CHARS ? each.withoutOutput() : each);
    }
    return bounded;
  }

  private static Keyed<Letter> letter(ResultSet row) throws SQLException {
    TaskId id = new TaskId(Sql.uuid(row, "id"));
    ArchivedTask task =
        new ArchivedTask(
            row.getString("tenant_name"),
            id,
            row.getString("type"),
            row.getInt("priority"),
            row.getInt("slice"),
            row.getString("key"),
            Sql.requiredInstant(row, "due_at"),
            Sql.requiredInstant(row, "created_at"),
            Sql.instant(row, "started_at"),
            Sql.instant(row, "finished_at"),
            Sql.instant(row, "expires_at"),
            row.getInt("attempt"),
            row.getInt("fence"),
            row.getInt("version"),
            Sql.integer(row, "crashes"),
            row.getBoolean("cancel_requested"),
            row.getString("leased_by"),
            row.getString("payload"),
            row.getString("target"),
            row.getString("retry"),
            row.getString("metadata"),
            row.getString("on_complete"),
            row.getString("on_dead"),
            row.getString("concurrency_key"),
            row.getString("schedule"),
            Sql.instant(row, "fire_at"),
            row.getString("progress"),
            result(row),
            List.of(),
            List.of());
    return new Keyed<>(
        new Key(row.getInt("tenant"), id.value()),
        new Letter(
            new TenantId(row.getInt("tenant")),
            id.partition(),
            Sql.requiredInstant(row, "died_at"),
            task));
  }

  private static ArchivedTask.Result result(ResultSet row) throws SQLException {
    String failure = row.getString("failure");
    return new ArchivedTask.Result(
        failure == null ? null : FailureKind.valueOf(failure),
        Sql.integer(row, "status"),
        row.getString("error"),
        row.getString("output"),
        row.getString("request"));
  }

  private static Key key(ResultSet row) throws SQLException {
    return new Key(row.getInt("tenant"), Sql.uuid(row, "task"));
  }

  private static Keyed<ArchivedTask.Attempt> attempt(ResultSet row) throws SQLException {
    return new Keyed<>(
        key(row),
        new ArchivedTask.Attempt(
            row.getInt("attempt"),
            row.getInt("fence"),
            row.getString("leased_by"),
            Sql.instant(row, "started_at"),
            Sql.requiredInstant(row, "ended_at"),
            row.getString("outcome"),
            result(row)));
  }

  private static Keyed<ArchivedTask.Transition> transition(ResultSet row) throws SQLException {
    return new Keyed<>(
        key(row),
        new ArchivedTask.Transition(
            Sql.requiredInstant(row, "at"),
            TaskState.valueOf(row.getString("from_state")),
            TaskState.valueOf(row.getString("to_state")),
            row.getInt("fence"),
            row.getString("who"),
            row.getString("reason")));
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
        each -> byPartition.computeIfAbsent(each.partition(), _ -> new ArrayList<>()).add(each));
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
        Column.ints(letters, each -> each.task().version()),
        Column.instants(letters, Letter::diedAt));
  }
}
