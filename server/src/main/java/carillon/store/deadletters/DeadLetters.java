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

/** The dead tasks of one tenant at a time: listed, counted, grouped and purged. */
public final class DeadLetters {

  /** What one transaction purges; more would hold its locks for too long. */
  private static final int PURGED_AT_ONCE = 10_000;

  /** Who only wants to know how many does not keep a connection for longer. */
  static final Duration COUNT_PATIENCE = Duration.ofSeconds(3);

  private static final Duration EMPTY_GROUPS_KEPT = Duration.ofDays(30);

  private final Db db;
  private final TaskReader reader;

  public DeadLetters(Db db, Catalog catalog) {
    this.db = db;
    this.reader = new TaskReader(db, catalog);
  }

  /** Where a letter stands among the others, and where a page ended. */
  public record Position(Instant diedAt, TaskId id) {}

  /**
   * A dead task.
   *
   * @param group the fingerprint of its error
   */
  public record Letter(TaskView task, Instant diedAt, String group) {}

  // Fenced off, so that each is looked up: a join may read all tasks of the tenant, if statistics
  // are
  // old.
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

  /** Newest death first. */
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
   * How many match.
   *
   * @param isAtLeast whether there may be more, because looking at all of them took too long
   */
  public record Count(long matched, boolean isAtLeast) {}

  /** How many match now. */
  public Count count(Tx tx, TenantId tenant, DeadLetterFilter filter) {
    return LetterSearch.count(tx, tenant, filter, COUNT_PATIENCE);
  }

  /** The groups that have letters, the one with the newest death first. */
  public Page<DeadLetterGroup, DeadLetterGroup.Position> groups(
      TenantId tenant,
      DeadLetterGroup.Filter filter,
      int limit,
      DeadLetterGroup.@Nullable Position before) {
    return db.inTransaction(tx -> GroupSearch.page(tx, tenant, filter, limit, before));
  }

  /**
   * What a purge did.
   *
   * @param isMore whether its time was over before there was nothing left
   */
  public record Purged(Count count, long purged, boolean isMore) {

    private static Purged of(Count before, long purged, boolean isMore) {
      long matched = Math.max(before.matched(), purged);
      return new Purged(new Count(matched, before.isAtLeast() && isMore), purged, isMore);
    }
  }

  private record Batch(int purged, @Nullable Position next) {}

  // Waits for whoever redrives one of them by hand; that one is then no longer dead.
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

  // A letter whose task is gone is of no use to anybody.
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
   * Removes them, tasks and all, the oldest first; one transaction after the other until its time
   * is over.
   */
  public Purged purge(TenantId tenant, DeadLetterFilter filter, Duration patience, String who) {
    long began = System.nanoTime();
    Count count = db.inTransaction(tx -> count(tx, tenant, filter));
    long purged = 0;
    Position after = null;
    do {
      Position from = after;
      Batch batch = db.inTransaction(tx -> purgeBatch(tx, tenant, filter, from, who));
      purged += batch.purged();
      after = batch.next();
    } while (after != null && System.nanoTime() - began < patience.toNanos());
    return Purged.of(count, purged, after != null);
  }

  /** Removes as many as one transaction can. */
  public Purged purge(Tx tx, TenantId tenant, DeadLetterFilter filter, String who) {
    Count count = count(tx, tenant, filter);
    Batch batch = purgeBatch(tx, tenant, filter, null, who);
    return Purged.of(count, batch.purged(), batch.next() != null);
  }

  private static Batch purgeBatch(
      Tx tx, TenantId tenant, DeadLetterFilter filter, @Nullable Position after, String who) {
    Page<Position, Position> page =
        LetterSearch.page(
            tx, tenant, filter, LetterSearch.Order.OLDEST_FIRST, after, PURGED_AT_ONCE);
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

  /** In one order, so that two who change many at once hardly ever wait for each other. */
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

  /** Those of the partitions that were not dropped. */
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
        AND letters = 0 -- still
      """;

  /** Removes groups that have had no letter for long; says how many. */
  public int forgetEmptyGroups(int limit) {
    return db.inTransaction(tx -> tx.update(FORGET_GROUPS, EMPTY_GROUPS_KEPT.toSeconds(), limit));
  }
}
