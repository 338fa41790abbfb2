package carillon.store.deadletters;

import carillon.model.Partition;
import carillon.model.TaskId;
import carillon.model.TenantId;
import carillon.store.catalog.Audit;
import carillon.store.catalog.Catalog;
import carillon.store.db.Column;
import carillon.store.db.Db;
import carillon.store.db.Page;
import carillon.store.db.Sql;
import carillon.store.db.Tx;
import carillon.store.tasks.TaskReader;
import carillon.store.tasks.TaskView;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Lists, counts, groups and purges the dead letters of one tenant. */
public final class DeadLetters {

  /** Letters purged per transaction; more would hold its locks for too long. */
  private static final int PURGE_BATCH = 10_000;

  /** A count holds its connection no longer than this. */
  static final Duration COUNT_TIMEOUT = Duration.ofSeconds(3);

  private static final Duration EMPTY_GROUP_RETENTION = Duration.ofDays(30);

  private final Db db;
  private final TaskReader reader;

  public DeadLetters(Db db, Catalog catalog) {
    this.db = db;
    this.reader = new TaskReader(db, catalog);
  }

  /** The position of a letter in lists; a page ends at one. */
  public record Position(Instant diedAt, TaskId id) {}

  /**
   * A dead task.
   *
   * @param group the fingerprint of its error
   */
  public record Letter(TaskView task, Instant diedAt, String group) {}

  // OFFSET 0 keeps the planner from merging the lookups into a join, which with outdated statistics
  // may read all tasks of the tenant.
  static final String SHOW =
      """
      /* DeadLetters.show */
      SELECT %s, d.died_at, d.fingerprint, CASE WHEN ?::boolean THEN t.payload END AS payload
      FROM unnest(?::uuid[]) WITH ORDINALITY AS f (task, n)
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.dead_letter
          WHERE tenant = ?
            AND task = f.task
          OFFSET 0
      ) d
      CROSS JOIN LATERAL (
          SELECT *
          FROM carillon.task
          WHERE tenant = d.tenant
            AND id = d.task
            AND partition = d.partition
          OFFSET 0
      ) t
      ORDER BY f.n
      """
          .formatted(TaskReader.COLUMNS);

  /** A page of the letters that match, newest death first. */
  public Page<Letter, Position> list(
      TenantId tenant,
      DeadLetterFilter filter,
      int limit,
      @Nullable Position before,
      boolean withPayload) {
    return db.inTransaction(
        tx -> {
          Page<Position, Position> page =
              LetterSearch.page(tx, tenant, filter, LetterSearch.Order.NEWEST_FIRST, before, limit);
          List<Letter> letters =
              page.items().isEmpty()
                  ? List.of()
                  : tx.query(
                      SHOW,
                      this::letter,
                      withPayload,
                      Column.uuids(page.items(), position -> position.id().value()),
                      tenant);
          return new Page<>(letters, page.next());
        });
  }

  private Letter letter(ResultSet row) throws SQLException {
    return new Letter(
        reader.view(row), Sql.requiredInstant(row, "died_at"), row.getString("fingerprint"));
  }

  /**
   * The number of letters that match.
   *
   * @param isAtLeast whether there may be more: the count reached its timeout
   */
  public record Count(long matched, boolean isAtLeast) {}

  public Count count(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    return LetterSearch.count(tx, tenant, filter, COUNT_TIMEOUT);
  }

  /** A page of the groups that have letters, newest death first. */
  public Page<DeadLetterGroup, DeadLetterGroup.Position> groups(
      TenantId tenant,
      DeadLetterGroup.Filter filter,
      int limit,
      DeadLetterGroup.@Nullable Position before) {
    return db.inTransaction(tx -> GroupSearch.page(tx, tenant, filter, limit, before));
  }

  /**
   * The result of a purge.
   *
   * @param hasMore whether it ended before all matching letters were purged
   */
  public record Purged(Count count, long purged, boolean hasMore) {

    private static Purged of(Count before, long purged, boolean hasMore) {
      long matched = Math.max(before.matched(), purged);
      return new Purged(new Count(matched, before.isAtLeast() && hasMore), purged, hasMore);
    }
  }

  private record Batch(int purged, @Nullable Position next) {}

  // Waits for a concurrent single redrive to commit. Its task is then no longer DEAD and stays.
  private static final String PURGE_TASKS =
      """
      /* DeadLetters.purgeTasks */
      WITH gone AS (
          DELETE FROM carillon.task_{partition}
          WHERE tenant = ?
            AND id = ANY (?)
            AND state = 'DEAD'
          RETURNING id
      ), attempts AS (
          DELETE FROM carillon.attempt_{partition}
          WHERE tenant = ?
            AND task = ANY (ARRAY(SELECT id FROM gone))
      )
      DELETE FROM carillon.transition_{partition}
      WHERE tenant = ?
        AND task = ANY (ARRAY(SELECT id FROM gone))
      """;

  // Also deletes a letter whose task no longer exists.
  private static final String PURGE_LETTERS =
      """
      /* DeadLetters.purgeLetters */
      DELETE FROM carillon.dead_letter d
      WHERE d.tenant = ?
        AND d.task = ANY (?)
        AND (SELECT true
             FROM carillon.task t
             WHERE t.tenant = d.tenant
               AND t.id = d.task
               AND t.partition = d.partition) IS NULL
      """;

  /**
   * Deletes the matching letters and their tasks, oldest first, in one transaction after another
   * until the timeout.
   */
  public Purged purge(TenantId tenant, DeadLetterFilter filter, Duration timeout, String who) {
    long began = System.nanoTime();
    Count count = db.inTransaction(tx -> count(tx, tenant, filter));
    long purged = 0;
    Position after = null;
    do {
      Position from = after;
      Batch batch = db.inTransaction(tx -> purgeBatch(tx, tenant, filter, from, who));
      purged += batch.purged();
      after = batch.next();
    } while (after != null && System.nanoTime() - began < timeout.toNanos());
    return Purged.of(count, purged, after != null);
  }

  /** Deletes one batch of the letters that match, in the caller's transaction. */
  public Purged purge(Tx tx, TenantId tenant, DeadLetterFilter filter, String who) {
    Count count = count(tx, tenant, filter);
    Batch batch = purgeBatch(tx, tenant, filter, null, who);
    return Purged.of(count, batch.purged(), batch.next() != null);
  }

  private static Batch purgeBatch(
      Tx tx, TenantId tenant, DeadLetterFilter filter, @Nullable Position after, String who) {
    Page<Position, Position> page =
        LetterSearch.page(tx, tenant, filter, LetterSearch.Order.OLDEST_FIRST, after, PURGE_BATCH);
    int purged = 0;
    if (!page.items().isEmpty()) {
      byPartition(page.items())
          .forEach(
              (partition, letters) ->
                  tx.update(
                      Sql.forPartition(PURGE_TASKS, partition),
                      tenant,
                      Column.uuids(letters, letter -> letter.id().value()),
                      tenant,
                      tenant));
      purged =
          tx.update(
              PURGE_LETTERS, tenant, Column.uuids(page.items(), letter -> letter.id().value()));
    }
    if (purged > 0) {
      Audit.record(
          tx,
          tenant,
          who,
          "dead-letter.purge",
          "matching",
          filter.summary().put("purged", purged).toString());
    }
    return new Batch(purged, page.next());
  }

  /** Sorted, so that two bulk changes lock partitions in the same order. */
  static Map<Partition, List<Position>> byPartition(List<Position> letters) {
    Map<Partition, List<Position>> byPartition = new TreeMap<>();
    letters.forEach(
        letter ->
            byPartition
                .computeIfAbsent(letter.id().partition(), _ -> new ArrayList<>())
                .add(letter));
    return byPartition;
  }

  private static final String EXISTING_PARTITIONS =
      """
      /* DeadLetters.existingPartitions */
      SELECT day
      FROM carillon.partition
      WHERE day = ANY (?)
      """;

  /** The partitions among these that have not been dropped. */
  static Set<Partition> existing(Tx tx, Set<Partition> partitions) {
    return new HashSet<>(
        tx.query(
            EXISTING_PARTITIONS,
            row -> new Partition(row.getObject("day", LocalDate.class)),
            Column.dates(partitions, Partition::day)));
  }

  private static final String FORGET_GROUPS =
      """
      /* DeadLetters.forgetEmptyGroups */
      DELETE FROM carillon.dead_letter_group
      WHERE (tenant, type, fingerprint) IN (
          SELECT tenant, type, fingerprint
          FROM carillon.dead_letter_group
          WHERE letters = 0
            AND last_at < clock_timestamp() - make_interval(secs => ?)
          LIMIT ?
      )
        AND letters = 0 -- checked again under the row lock
      """;

  /** Deletes groups that have been empty for long, and returns how many. */
  public int forgetEmptyGroups(int limit) {
    return db.inTransaction(
        tx -> tx.update(FORGET_GROUPS, EMPTY_GROUP_RETENTION.toSeconds(), limit));
  }
}
