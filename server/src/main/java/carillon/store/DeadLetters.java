package carillon.store;

import carillon.model.TaskId;
import carillon.model.TenantId;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The dead tasks of one tenant at a time. */
public final class DeadLetters {

  private static final int MOST_AT_ONCE = 10_000;

  private final Db db;
  private final DbClock clock;
  private final TaskReader reader;
  private final TaskChanges changes;

  public DeadLetters(Db db, Catalog catalog, DbClock clock, Agenda agenda) {
    this.db = db;
    this.clock = clock;
    this.reader = new TaskReader(db, catalog);
    this.changes = new TaskChanges(reader, catalog, clock, agenda);
  }

  /** Which dead letters; what is null or empty does not matter. */
  public record Filter(
      @Nullable String type,
      @Nullable String error,
      @Nullable Instant diedAfter,
      @Nullable Instant diedBefore,
      List<TaskId> ids) {
    public Filter {
      ids = List.copyOf(ids);
    }

    private @Nullable Column idColumn() {
      return ids.isEmpty() ? null : Column.uuids(ids, TaskId::value);
    }
  }

  /** Where a page ended. */
  public record Position(Instant diedAt, TaskId id) {}

  /** How many matched, and to how many it was done. */
  public record Done(int matched, int done) {}

  private static final String LIST =
      """
      /* DeadLetters.list */
      SELECT %s, d.died_at, CASE WHEN ?::boolean THEN t.payload END AS payload
      FROM carillon.dead_letter d
      JOIN carillon.task t ON t.tenant = d.tenant AND t.id = d.task AND t.slot = d.slot
      WHERE d.tenant = ?
        AND (d.died_at, d.task) < (?, ?)
        AND (?::text IS NULL OR d.type = ?::text)
        AND (?::text IS NULL OR strpos(lower(d.error), lower(?::text)) > 0)
        AND (?::timestamptz IS NULL OR d.died_at >= ?::timestamptz)
        AND (?::timestamptz IS NULL OR d.died_at < ?::timestamptz)
        AND (?::uuid[] IS NULL OR d.task = ANY (?::uuid[]))
      ORDER BY d.died_at DESC, d.task DESC
      LIMIT ?
      """
          .formatted(TaskReader.COLUMNS);

  private static final Position END =
      new Position(Instant.parse("9999-01-01T00:00:00Z"), new TaskId(new UUID(-1L, -1L)));

  private record Letter(TaskView task, Instant diedAt) {}

  /** Newest death first. */
  public Page<TaskView, Position> list(
      TenantId tenant, Filter filter, int limit, @Nullable Position before, boolean withPayload) {
    Position from = before == null ? END : before;
    List<Letter> found =
        db.inTransaction(
            tx ->
                tx.query(
                    LIST,
                    this::letter,
                    withPayload,
                    tenant,
                    from.diedAt(),
                    from.id(),
                    filter.type(),
                    filter.type(),
                    filter.error(),
                    filter.error(),
                    filter.diedAfter(),
                    filter.diedAfter(),
                    filter.diedBefore(),
                    filter.diedBefore(),
                    filter.idColumn(),
                    filter.idColumn(),
                    limit + 1));
    if (found.size() <= limit) {
      return new Page<>(found.stream().map(Letter::task).toList(), null);
    }
    Letter last = found.get(limit - 1);
    return new Page<>(
        found.subList(0, limit).stream().map(Letter::task).toList(),
        new Position(last.diedAt(), last.task().id()));
  }

  private Letter letter(ResultSet row) throws SQLException {
    return new Letter(reader.view(row), Sql.requiredInstant(row, "died_at"));
  }

  private static final String MATCHING =
      """
      /* DeadLetters.matching */
      SELECT d.task
      FROM carillon.dead_letter d
      WHERE d.tenant = ?
        AND (?::text IS NULL OR d.type = ?::text)
        AND (?::text IS NULL OR strpos(lower(d.error), lower(?::text)) > 0)
        AND (?::timestamptz IS NULL OR d.died_at >= ?::timestamptz)
        AND (?::timestamptz IS NULL OR d.died_at < ?::timestamptz)
        AND (?::uuid[] IS NULL OR d.task = ANY (?::uuid[]))
      ORDER BY d.died_at, d.task
      LIMIT ?
      """;

  private static List<TaskId> matching(Tx tx, TenantId tenant, Filter filter) {
    return tx.query(
        MATCHING,
        row -> new TaskId(Sql.uuid(row, "task")),
        tenant,
        filter.type(),
        filter.type(),
        filter.error(),
        filter.error(),
        filter.diedAfter(),
        filter.diedAfter(),
        filter.diedBefore(),
        filter.diedBefore(),
        filter.idColumn(),
        filter.idColumn(),
        MOST_AT_ONCE);
  }

  /**
   * Redrives at most 10,000 in one go; with a rate (per second) they become ready one after the
   * other.
   */
  public Done redrive(
      Tx tx, TenantId tenant, Filter filter, @Nullable Integer ratePerSecond, String who) {
    List<TaskId> ids = matching(tx, tenant, filter);
    Duration apart =
        ratePerSecond == null ? Duration.ZERO : Duration.ofSeconds(1).dividedBy(ratePerSecond);
    Instant readyAt = clock.instant();
    int redriven = 0;
    for (TaskId id : ids) {
      if (changes.redriveAt(tx, tenant, id, readyAt, who, null) instanceof ChangeResult.Changed) {
        redriven++;
        readyAt = readyAt.plus(apart);
      }
    }
    Audit.record(
        tx, tenant, who, "dead-letter.redrive", "matching", "{\"redriven\": " + redriven + "}");
    return new Done(ids.size(), redriven);
  }

  private static final String PURGE =
      """
      /* DeadLetters.purge */
      WITH letter AS (
          DELETE FROM carillon.dead_letter
          WHERE tenant = ?
            AND task = ?
          RETURNING tenant, task, slot
      )
      DELETE FROM carillon.task t
      USING letter
      WHERE t.tenant = letter.tenant
        AND t.id = letter.task
        AND t.slot = letter.slot
        AND t.state = 'DEAD'
      """;

  /** Removes at most 10,000 in one go, tasks and all. */
  public Done purge(Tx tx, TenantId tenant, Filter filter, String who) {
    List<TaskId> ids = matching(tx, tenant, filter);
    int purged = 0;
    for (TaskId id : ids) {
      purged += tx.update(PURGE, tenant, id);
    }
    Audit.record(tx, tenant, who, "dead-letter.purge", "matching", "{\"purged\": " + purged + "}");
    return new Done(ids.size(), purged);
  }
}
